import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { login, metric, startTestBroker, turns, until } from '../../support/mqtt.ts';
import {
  connectBytes,
  PINGREQ,
  publishBytes,
  subscribeBytes,
  unsubscribeBytes,
} from '../../support/mqtt-bytes.ts';

const TOPIC = Buffer.from('to/a/x').toString('hex');

describe('a delivery', () => {
  test('a delivery goes nowhere, and says so, when nobody is subscribed', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    client.send(subscribeBytes(1, ['to/a/y', 1]));
    await client.take(5);
    assert.equal(b.broker.subscribers('to/a/x'), 0);
    assert.equal(await b.broker.publish('to/a/x', 'hello'), 0);
    await turns();
    assert.equal(client.received.length, 0);
  });

  test('a delivery has the QoS of the subscription, 1 at most', async (t) => {
    const b = await startTestBroker(t);
    const clients = [];
    for (const qos of [0, 1, 2]) {
      const { client } = await login(b);
      client.send(subscribeBytes(1, ['to/a/x', qos]));
      assert.equal(await client.takeHex(5), `900300010${qos}`);
      clients.push(client);
    }
    assert.equal(await b.broker.publish('to/a/x', 'hi'), 3);
    const [zero, one, two] = clients;
    assert.equal(await zero?.takeHex(12), `300a0006${TOPIC}6869`);
    for (const client of [one, two]) {
      const hex = await client?.takeHex(14);
      assert.match(hex ?? '', new RegExp(`^320c0006${TOPIC}[0-9a-f]{4}6869$`));
      assert.notEqual(hex?.slice(20, 24), '0000', '[MQTT-2.3.1-1]');
    }
    assert.equal(await metric(b, 'mqtt_messages_total{direction="out"}'), '3');
  });

  test('[MQTT-3.3.5-1] a delivery comes once to overlapping subscriptions, at the highest QoS of them', async (t) => {
    const b = await startTestBroker(t);
    const orders = [
      [
        ['to/a/x', 0],
        ['to/a/#', 1],
        ['to/a/+', 0],
      ],
      [
        ['to/a/#', 1],
        ['to/a/x', 0],
        ['to/+/x', 1],
      ],
    ] as [string, number][][];
    for (const filters of orders) {
      const { client } = await login(b, { clientId: 'meter' });
      client.send(subscribeBytes(1, ...filters));
      await client.take(4 + filters.length);
      assert.equal(b.broker.subscribers('to/a/x'), 1);
      assert.equal(await b.broker.publish('to/a/x', 'hi'), 1);
      assert.equal((await client.takeHex(14)).slice(0, 2), '32');
      await turns();
      assert.equal(client.received.length, 0);
    }
  });

  test('a delivery ends with UNSUBSCRIBE, in the order of the packets even within one write', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    client.send(
      subscribeBytes(1, ['to/a/x', 1]),
      unsubscribeBytes(2, 'to/a/x'),
      subscribeBytes(3, ['to/a/y', 0]),
      unsubscribeBytes(4, 'to/a/x', 'to/a/z'),
      PINGREQ,
    );
    assert.equal(await client.takeHex(20), '9003000101b00200029003000300b0020004d000');
    assert.deepEqual([b.broker.subscribers('to/a/x'), b.broker.subscribers('to/a/y')], [0, 1]);
    assert.equal(await b.broker.publish('to/a/x', 'hi'), 0);
  });

  test('a delivery changes its QoS when the same filter is subscribed again', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    client.send(subscribeBytes(1, ['to/a/x', 1]), subscribeBytes(2, ['to/a/x', 0]));
    await client.take(10);
    await b.broker.publish('to/a/x', 'hi');
    assert.equal((await client.takeHex(12)).slice(0, 2), '30');
  });

  test('a delivery is not sent again on the same connection, nor kept for the absent', async (t) => {
    const b = await startTestBroker(t);
    const kept = { clientId: 'meter', clean: false };
    const first = await login(b, kept);
    first.client.send(subscribeBytes(1, ['to/a/x', 1]));
    await first.client.take(5);
    await b.broker.publish('to/a/x', 'hi');
    const delivery = await first.client.take(14);
    first.client.send([0x40, 2], delivery.subarray(10, 12));
    await turns();
    assert.equal(first.client.received.length, 0);
    first.client.stream.destroy();
    await first.client.closed();
    assert.equal(b.broker.subscribers('to/a/x'), 0);
    assert.equal(await b.broker.publish('to/a/x', 'absent'), 0);
    const second = await login(b, kept);
    assert.equal(second.connack, '20020100', '[MQTT-3.2.2-2] the session is present');
    await turns();
    assert.equal(second.client.received.length, 0);
    assert.equal(b.broker.subscribers('to/a/x'), 1, 'the subscription was kept');
    assert.equal(await b.broker.publish('to/a/x', 'back'), 1);
    assert.match(await second.client.takeHex(16), /6261636b$/);
  });

  test('a delivery is dropped without harm when its session is lost at this moment', async (t) => {
    const b = await startTestBroker(t);
    const [lost, stays] = [await login(b), await login(b)];
    for (const { client } of [lost, stays]) {
      client.send(subscribeBytes(1, ['to/a/x', 1]));
      await client.take(5);
    }
    const published = b.broker.publish('to/a/x', 'hi');
    lost.client.stream.destroy();
    assert.equal(await published, 2);
    await stays.client.take(14);
    assert.equal(await b.broker.publish('to/a/x', 'hi'), 1);
  });

  test('a delivery reaches a thousand subscribers and counts them', async (t) => {
    const b = await startTestBroker(t, { limits: { sessionsPerIdentity: 1_000 } });
    const clients = await Promise.all(Array.from({ length: 1_000 }, () => login(b)));
    for (const [index, { client }] of clients.entries())
      client.send(subscribeBytes(1, [index % 2 ? 'to/a/x' : 'to/a/#', 1]));
    await Promise.all(clients.map(({ client }) => client.take(5)));
    assert.equal(await b.broker.publish('to/a/x', 'hi'), 1_000);
    await Promise.all(clients.map(({ client }) => client.take(14)));
  });
});

describe('a kept session', () => {
  test('[MQTT-3.1.2-6] is discarded by a clean one with the same client id', async (t) => {
    const b = await startTestBroker(t);
    const first = await login(b, { clientId: 'meter', clean: false });
    first.client.send(subscribeBytes(1, ['to/a/x', 1]));
    await first.client.take(5);
    assert.equal((await login(b, { clientId: 'meter' })).connack, '20020000');
    assert.equal(b.broker.subscribers('to/a/x'), 0);
    assert.equal((await login(b, { clientId: 'meter', clean: false })).connack, '20020000');
    assert.equal(b.broker.subscribers('to/a/x'), 0);
  });

  test('[MQTT-3.2.2-2] without subscriptions is present all the same', async (t) => {
    const b = await startTestBroker(t);
    const kept = { clientId: 'meter', clean: false };
    assert.equal((await login(b, kept)).connack, '20020000');
    assert.equal((await login(b, kept)).connack, '20020100');
  });

  test('a kept session belongs to its identity', async (t) => {
    const b = await startTestBroker(t);
    await login(b, { clientId: 'meter', clean: false });
    const other = await login(b, { clientId: 'meter', clean: false, username: 'b' });
    assert.equal(other.connack, '20020000');
  });

  test('a kept session gets back only subscriptions that are still permitted', async (t) => {
    let isPermitted = true;
    const b = await startTestBroker(t, { hook: { maySubscribe: () => isPermitted } });
    const first = await login(b, { clientId: 'meter', clean: false });
    first.client.send(subscribeBytes(1, ['to/a/x', 1]));
    await first.client.take(5);
    isPermitted = false;
    await login(b, { clientId: 'meter', clean: false });
    assert.equal(b.broker.subscribers('to/a/x'), 0);
  });

  test('a kept session is one of eight per identity; the oldest that is away is forgotten', async (t) => {
    const b = await startTestBroker(t, { limits: { keptSessionsPerIdentity: 2 } });
    for (const clientId of ['one', 'two', 'three']) {
      const { client } = await login(b, { clientId, clean: false });
      client.send([0xe0, 0]);
      await client.closed();
    }
    assert.equal((await login(b, { clientId: 'three', clean: false })).connack, '20020100');
    assert.equal((await login(b, { clientId: 'two', clean: false })).connack, '20020100');
    assert.equal((await login(b, { clientId: 'one', clean: false })).connack, '20020000');
  });

  test('a kept session is forgotten when its credentials are voided', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, { clientId: 'meter', clean: false });
    b.broker.closeSessions('a');
    await client.closed();
    assert.equal((await login(b, { clientId: 'meter', clean: false })).connack, '20020000');
  });
});

describe('a subscription', () => {
  test('a subscription beyond the 32nd is refused, a change of one of the 32 is not', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    for (let count = 1; count <= 32; count++) client.send(subscribeBytes(count, [`to/a/${count}`, 1]));
    await client.take(32 * 5);
    client.send(subscribeBytes(33, ['to/a/33', 1], ['to/a/32', 0]));
    assert.equal(await client.takeHex(6), '900400218000');
    client.send(unsubscribeBytes(34, 'to/a/1'), subscribeBytes(35, ['to/a/33', 1]));
    assert.equal(await client.takeHex(9), 'b00200229003002301');
  });

  test('a subscription is not granted when the hook throws', async (t) => {
    const b = await startTestBroker(t, {
      hook: {
        maySubscribe: () => {
          throw new Error('hook');
        },
      },
    });
    const { client } = await login(b);
    client.send(subscribeBytes(1, ['to/a/x', 1]));
    assert.equal(await client.takeHex(5), '9003000180');
    assert.equal(b.broker.subscribers('to/a/x'), 0);
  });
});

describe('a client that does not do its part', () => {
  test('a subscriber that does not read is disconnected, and others get their messages', async (t) => {
    const b = await startTestBroker(t, { limits: { outboundQueuedBytes: 300_000 } });
    const [slow, quick] = [await login(b), await login(b)];
    for (const { client } of [slow, quick]) {
      client.send(subscribeBytes(1, ['to/a/x', 0]));
      await client.take(5);
    }
    slow.client.stream.pause();
    let count = 0;
    while (b.broker.sessionCount() === 2 && count < 100) {
      await b.broker.publish('to/a/x', Buffer.alloc(10_000));
      await turns(2);
      count++;
    }
    assert.ok(count > 25 && count < 50, `after ${count} deliveries of 10 kB`);
    await slow.client.closed();
    assert.equal(await metric(b, 'mqtt_closes_total{reason="slow_consumer"}'), '1');
    assert.equal(quick.client.isClosed, false);
    await until(
      () => quick.client.received.length === count * 10_011,
      () => 'all of the deliveries',
    );
  });

  test('a subscriber that leaves deliveries unacknowledged is disconnected', async (t) => {
    const b = await startTestBroker(t, { limits: { unacknowledgedDeliveries: 5 } });
    const [silent, right] = [await login(b), await login(b)];
    for (const { client } of [silent, right]) {
      client.send(subscribeBytes(1, ['to/a/x', 1]));
      await client.take(5);
    }
    for (let count = 0; count < 6; count++) {
      await b.broker.publish('to/a/x', 'hi');
      const delivery = await right.client.take(14);
      right.client.send([0x40, 2], delivery.subarray(10, 12));
      await turns();
    }
    await silent.client.closed();
    assert.equal(right.client.isClosed, false);
    assert.equal(await metric(b, 'mqtt_closes_total{reason="unacknowledged_deliveries"}'), '1');
  });

  test('a subscriber that does not read is counted in bytes like any other', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b);
    const message = publishBytes('from/a/x', 'y');
    client.send(message);
    await turns();
    const sentBytes = connectBytes().length + message.length;
    assert.equal(await metric(b, 'mqtt_bytes_total{direction="in"}'), String(sentBytes));
    assert.equal(await metric(b, 'mqtt_bytes_total{direction="out"}'), '4');
  });
});
