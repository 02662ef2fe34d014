import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MqttMessage } from '../../../src/platform/mqtt/index.ts';
import { login, metric, startTestBroker, type TestBroker, turns } from '../../support/mqtt.ts';
import {
  connectBytes,
  PINGREQ,
  publishBytes,
  pubrelBytes,
  subscribeBytes,
} from '../../support/mqtt-bytes.ts';

interface Pending {
  message: MqttMessage;
  resolve: () => void;
  reject: (error: Error) => void;
}

/** A broker whose message hook waits until the test decides. */
async function waitingBroker(
  t: Parameters<typeof startTestBroker>[0],
  options: Parameters<typeof startTestBroker>[1] = {},
): Promise<{ b: TestBroker; pending: Pending[] }> {
  const pending: Pending[] = [];
  const b = await startTestBroker(t, {
    ...options,
    hook: {
      onMessage: (message) =>
        new Promise<void>((resolve, reject) => void pending.push({ message, resolve, reject })),
    },
  });
  return { b, pending };
}

const one = (payload: string, packetId = 1): Buffer =>
  publishBytes('from/a/x', payload, { qos: 1, packetId });
const two = (payload: string, packetId = 1, flags = 0): Buffer =>
  publishBytes('from/a/x', payload, { qos: 2, packetId, flags });

describe('an acknowledgement', () => {
  test('an acknowledgement is never sent for a message that was not taken; the connection closes instead', async (t) => {
    for (const packet of [one('x'), two('x')]) {
      const { b, pending } = await waitingBroker(t);
      const { client } = await login(b);
      client.send(packet);
      await turns();
      pending[0]?.reject(new Error('disk is gone'));
      await client.closed();
      assert.equal(client.received.length, 0);
      assert.equal(await metric(b, 'mqtt_messages_dropped_total{reason="not_taken"}'), '1');
    }
  });

  test('an acknowledgement is never sent when the hook throws', async (t) => {
    const b = await startTestBroker(t, {
      hook: {
        onMessage: () => {
          throw new Error('listener');
        },
      },
    });
    const { client } = await login(b);
    client.send(one('x'));
    await client.closed();
    assert.equal(client.received.length, 0);
  });

  for (const [title, packet, answer] of [
    ['PUBACK', one('x'), '40020001'],
    ['PUBREC', two('x'), '50020001'],
  ] as const)
    test(`an acknowledgement of ${title} waits for the promise of the hook`, async (t) => {
      const { b, pending } = await waitingBroker(t);
      const { client } = await login(b);
      client.send(packet);
      await turns();
      assert.equal(client.received.length, 0);
      pending[0]?.resolve();
      assert.equal(await client.takeHex(4), answer);
    });

  test('an acknowledgement is not sent for a refused message at QoS 0, so the connection stays', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const { client } = await login(b);
    client.send(publishBytes('from/a/x', 'y'));
    await turns();
    pending[0]?.reject(new Error('disk is gone'));
    client.send(PINGREQ);
    assert.equal(await client.takeHex(2), 'd000');
    assert.equal(await metric(b, 'mqtt_messages_dropped_total{reason="not_taken"}'), '1');
  });

  test('a pending acknowledgement does not delay later messages, requests and pings', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const { client } = await login(b);
    client.send(one('1', 1), one('2', 2), two('3', 3), publishBytes('from/a/x', '0'));
    client.send(subscribeBytes(9, ['to/a/x', 0]), PINGREQ);
    assert.equal(await client.takeHex(7), '9003000900d000');
    assert.deepEqual(
      pending.map(({ message }) => message.payload.toString()),
      ['1', '2', '3', '0'],
    );
    for (const { resolve } of pending) resolve();
    assert.equal(await client.takeHex(12), '400200014002000250020003');
  });

  test('acknowledgements of a group leave in one write', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const { client } = await login(b);
    for (let packetId = 1; packetId <= 50; packetId++) client.send(one('x', packetId));
    await turns(100);
    const chunks: number[] = [];
    client.stream.on('data', (chunk: Buffer) => chunks.push(chunk.length));
    for (const { resolve } of pending) resolve();
    await client.take(200);
    assert.deepEqual(chunks, [200]);
  });

  test('an acknowledgement is not sent to a connection that has ended meanwhile, nor to its successor', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const first = await login(b, { clientId: 'meter', clean: false });
    first.client.send(one('x'), two('y', 2));
    await turns();
    const second = await login(b, { clientId: 'meter', clean: false });
    for (const { resolve } of pending) resolve();
    second.client.send(PINGREQ);
    assert.equal(await second.client.takeHex(2), 'd000');
    await turns();
    assert.equal(second.client.received.length + first.client.received.length, 0);
  });
});

describe('the window of one connection', () => {
  test('the window of one connection pauses reading at its number of messages and resumes at half of it', async (t) => {
    const { b, pending } = await waitingBroker(t, { limits: { inFlightMessages: 10 } });
    const { client } = await login(b);
    for (let packetId = 1; packetId <= 30; packetId++) client.send(one('x', packetId));
    await turns(100);
    assert.equal(pending.length, 10);
    for (const { resolve } of pending.slice(0, 4)) resolve();
    await turns();
    assert.equal(pending.length, 10);
    pending[4]?.resolve();
    await turns();
    assert.equal(pending.length, 15);
    for (let index = 5; index < 30; index++) {
      pending[index]?.resolve();
      await turns();
    }
    assert.equal(await client.takeHex(120).then((hex) => hex.length), 240);
  });

  test('the window of one connection pauses reading at its number of bytes', async (t) => {
    const { b, pending } = await waitingBroker(t, { limits: { inFlightBytes: 10_000 } });
    const { client } = await login(b);
    for (let packetId = 1; packetId <= 30; packetId++) client.send(one('x'.repeat(1_000), packetId));
    await turns(100);
    assert.equal(pending.length, 10);
  });

  test('the window of one connection does not pause other connections', async (t) => {
    const { b, pending } = await waitingBroker(t, { limits: { inFlightMessages: 1 } });
    const [first, second] = [await login(b), await login(b)];
    first.client.send(one('x'));
    second.client.send(one('y'));
    await turns();
    assert.equal(pending.length, 2);
  });
});

describe('a QoS 2 message', () => {
  test('[MQTT-4.3.3-2] a QoS 2 message sent again before PUBREL is taken once and answered again', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    client.send(two('x', 5), two('x', 5, 8), two('x', 5, 8));
    assert.equal(await client.takeHex(12), '500200055002000550020005');
    client.send(pubrelBytes(5));
    assert.equal(await client.takeHex(4), '70020005');
    assert.equal(b.messages.length, 1);
    client.send(two('new', 5));
    assert.equal(await client.takeHex(4), '50020005');
    assert.equal(b.messages.length, 2);
  });

  test('a QoS 2 message sent again while the first is pending is not acknowledged before that one is taken', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const { client } = await login(b);
    client.send(two('x', 5), two('x', 5, 8));
    await turns();
    assert.equal(client.received.length, 0);
    assert.equal(pending.length, 1);
    pending[0]?.resolve();
    assert.equal(await client.takeHex(4), '50020005');
  });

  test('a QoS 2 message sent again after it was not taken is taken anew', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const first = await login(b, { clientId: 'meter', clean: false });
    first.client.send(two('x', 5));
    await turns();
    pending[0]?.reject(new Error('disk is gone'));
    await first.client.closed();
    const second = await login(b, { clientId: 'meter', clean: false });
    assert.equal(second.connack, '20020100');
    second.client.send(two('x', 5, 8));
    await turns();
    assert.equal(pending.length, 2);
    pending[1]?.resolve();
    assert.equal(await second.client.takeHex(4), '50020005');
  });

  test('a QoS 2 message is handed over once across a reconnect of a kept session, even if still pending', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const first = await login(b, { clientId: 'meter', clean: false });
    first.client.send(two('x', 5));
    await turns();
    first.client.stream.destroy();
    await first.client.closed();
    const second = await login(b, { clientId: 'meter', clean: false });
    second.client.send(two('x', 5, 8));
    await turns();
    pending[0]?.resolve();
    assert.equal(await second.client.takeHex(4), '50020005');
    second.client.send(pubrelBytes(5));
    assert.equal(await second.client.takeHex(4), '70020005');
    assert.equal(pending.length, 1);
  });

  test('a QoS 2 message is taken when its identifier belongs to another one that its client has forgotten', async (t) => {
    const { b, pending } = await waitingBroker(t);
    const first = await login(b, { clientId: 'meter', clean: false });
    first.client.send(two('before the power went', 5));
    await turns();
    const second = await login(b, { clientId: 'meter', clean: false });
    second.client.send(two('after it', 5));
    await turns();
    assert.equal(pending.length, 2);
    pending[0]?.resolve();
    await turns();
    assert.equal(second.client.received.length, 0, 'acknowledged when it is stored itself');
    pending[1]?.resolve();
    assert.equal(await second.client.takeHex(4), '50020005');
  });

  test('a QoS 2 message is forgotten with its clean session', async (t) => {
    const b = await startTestBroker(t);
    const first = await login(b, { clientId: 'meter' });
    first.client.send(two('x', 5));
    await first.client.take(4);
    const second = await login(b, { clientId: 'meter' });
    second.client.send(two('other', 5));
    await second.client.take(4);
    assert.equal(b.messages.length, 2);
  });

  test('a QoS 2 message released before PUBREC breaks the protocol', async (t) => {
    const { b } = await waitingBroker(t);
    const { client } = await login(b);
    client.send(two('x', 5), pubrelBytes(5));
    await client.closed();
    assert.equal(client.received.length, 0);
  });

  test('QoS 2 messages left unreleased too often close the connection', async (t) => {
    const b = await startTestBroker(t, { limits: { inFlightMessages: 3 } });
    const { client } = await login(b);
    for (let packetId = 1; packetId <= 4; packetId++) client.send(two('x', packetId));
    await client.closed();
    assert.equal(b.messages.length, 3);
  });
});

describe('the rate of one identity', () => {
  const limits = { messagesPerSecond: 10, messageBurst: 20 };

  test('the rate of one identity beyond its burst drops QoS 0, warns once a minute and keeps the connection', async (t) => {
    const told: string[] = [];
    const b = await startTestBroker(t, { limits, hook: { onTooFast: ({ key }) => void told.push(key) } });
    const { client } = await login(b);
    for (let count = 0; count < 50; count++) client.send(publishBytes('from/a/x', `${count}`));
    client.send(PINGREQ);
    await client.take(2);
    const dropped = await metric(b, 'mqtt_messages_dropped_total{reason="rate"}');
    assert.deepEqual([b.messages.length, dropped, told], [20, '30', Array<string>(30).fill('a')]);
    const warnings = (): number => b.lines.filter(({ message }) => message.includes('too fast')).length;
    assert.equal(warnings(), 1);
    await b.clock.advance(1_000);
    for (let count = 0; count < 50; count++) client.send(publishBytes('from/a/x', `${count}`));
    await turns(200);
    assert.equal(b.messages.length, 30);
    assert.equal(warnings(), 1);
    await b.clock.advance(59_000);
    for (let count = 0; count < 50; count++) client.send(publishBytes('from/a/x', `${count}`));
    await turns(200);
    assert.equal(warnings(), 2);
  });

  test('the rate of one identity beyond its burst slows QoS 1 and 2 down and drops none', async (t) => {
    const b = await startTestBroker(t, { limits });
    const { client } = await login(b, { keepAliveS: 2 });
    for (let packetId = 1; packetId <= 60; packetId++)
      client.send(packetId % 2 ? one(`${packetId}`, packetId) : two(`${packetId}`, packetId));
    await turns(200);
    assert.equal(b.messages.length, 21);
    await b.clock.advance(1_000);
    assert.equal(b.messages.length, 31);
    await b.clock.advance(2_900);
    assert.equal(b.messages.length, 60);
    await client.take(240);
    assert.equal(await metric(b, 'mqtt_messages_total{direction="in"}'), '60');
  });

  test('the rate of one identity is shared by the sessions of the identity and by nobody else', async (t) => {
    const b = await startTestBroker(t, { limits });
    const clients = [await login(b), await login(b), await login(b, { username: 'b' })];
    for (const [index, { client }] of clients.entries())
      for (let count = 0; count < 30; count++)
        client.send(publishBytes(index < 2 ? 'from/a/x' : 'from/b/x', 'y'));
    await turns(100);
    assert.equal(b.messages.filter(({ session }) => session.identity.key === 'a').length, 20);
    assert.equal(b.messages.filter(({ session }) => session.identity.key === 'b').length, 20);
  });

  test('the rate of one identity grows with the devices that send through it', async (t) => {
    let devices = 3;
    const identity = { key: 'a', devices: () => devices };
    const b = await startTestBroker(t, { limits, hook: { authenticate: () => Promise.resolve(identity) } });
    const { client } = await login(b);
    for (let count = 0; count < 100; count++) client.send(publishBytes('from/a/x', `${count}`));
    await turns(200);
    assert.equal(b.messages.length, 60);
    devices = 1;
    await b.clock.advance(1_000);
    for (let count = 0; count < 100; count++) client.send(publishBytes('from/a/x', `${count}`));
    await turns(200);
    assert.equal(b.messages.length, 70);
  });

  test('the rate of one identity is not reset by a reconnect', async (t) => {
    const b = await startTestBroker(t, { limits });
    for (let attempt = 0; attempt < 3; attempt++) {
      const { client } = await login(b);
      for (let count = 0; count < 30; count++) client.send(publishBytes('from/a/x', 'y'));
      await turns(100);
      client.stream.destroy();
      await client.closed();
    }
    assert.equal(b.messages.length, 20);
  });
});

describe('a message', () => {
  test('a message reaches the hook only: no other client, not even the sender, and nothing is retained', async (t) => {
    const b = await startTestBroker(t, {
      hook: { mayPublish: () => true, maySubscribe: () => true },
    });
    const [sender, listener] = [await login(b), await login(b, { username: 'b' })];
    for (const { client } of [sender, listener]) client.send(subscribeBytes(1, ['#', 1]));
    await Promise.all([sender.client.take(5), listener.client.take(5)]);
    for (const flags of [0, 1]) sender.client.send(publishBytes('from/a/x', 'y', { qos: 1, flags }));
    await sender.client.take(8);
    const late = await login(b, { username: 'c' });
    late.client.send(subscribeBytes(1, ['#', 1]));
    await late.client.take(5);
    await turns();
    for (const { client } of [sender, listener, late]) assert.equal(client.received.length, 0);
  });

  test('a message carries its bytes, DUP and the time it arrived', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    const atMs = b.clock.wallMs();
    client.send(publishBytes('from/a/x', Buffer.from([0, 255, 1]), { qos: 1, flags: 8 }));
    await client.take(4);
    await b.clock.advance(1_500);
    client.send(publishBytes('from/a/y', '', { qos: 0 }));
    await turns();
    assert.deepEqual(
      b.messages.map(({ topic, payload, qos, duplicate, receivedAtMs }) => ({
        topic,
        payload: payload.toString('hex'),
        qos,
        duplicate,
        afterMs: receivedAtMs - atMs,
      })),
      [
        { topic: 'from/a/x', payload: '00ff01', qos: 1, duplicate: true, afterMs: 0 },
        { topic: 'from/a/y', payload: '', qos: 0, duplicate: false, afterMs: 1_500 },
      ],
    );
  });
});

test('a refused connection delivers nothing of what it still sends', async (t) => {
  const b = await startTestBroker(t);
  const client = b.raw();
  client.send(connectBytes(), publishBytes('from/a/+', 'bad'), publishBytes('from/a/x', 'after'));
  await client.closed();
  assert.deepEqual(b.messages, []);
});
