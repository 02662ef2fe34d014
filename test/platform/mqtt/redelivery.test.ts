/** Deliveries at QoS 1 that a kept session has not acknowledged (MQTT 3.1.1 section 4.4). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { login, metric, type RawClient, startTestBroker, turns } from '../../support/mqtt.ts';
import { subscribeBytes } from '../../support/mqtt-bytes.ts';

const KEPT = { clientId: 'meter', clean: false };
/** A delivery of two bytes to `to/a/x`. */
const SIZE = 14;

async function subscribed(b: Awaited<ReturnType<typeof startTestBroker>>, options = {}): Promise<RawClient> {
  const { client } = await login(b, { ...KEPT, ...options });
  client.send(subscribeBytes(1, ['to/a/x', 1]));
  await client.take(5);
  return client;
}

async function lose(client: RawClient): Promise<void> {
  client.stream.destroy();
  await client.closed();
  await turns();
}

const idOf = (delivery: Buffer): Buffer => delivery.subarray(10, 12);

describe('an unacknowledged delivery', () => {
  test('[MQTT-4.4.0-1] an unacknowledged delivery goes out again after CONNACK, in order, with DUP and its packet identifier', async (t) => {
    const b = await startTestBroker(t);
    const first = await subscribed(b);
    const sent: Buffer[] = [];
    for (const text of ['d1', 'd2', 'd3']) {
      await b.broker.publish('to/a/x', text);
      sent.push(await first.take(SIZE));
    }
    first.send([0x40, 2], idOf(sent[1] ?? Buffer.alloc(0)));
    await turns();
    await lose(first);
    const second = await login(b, KEPT);
    assert.equal(second.connack, '20020100');
    for (const original of [sent[0], sent[2]]) {
      const again = await second.client.take(SIZE);
      assert.equal(again[0], 0x3a, 'DUP, QoS 1');
      assert.deepEqual(again.subarray(1), original?.subarray(1));
      second.client.send([0x40, 2], idOf(again));
    }
    await turns();
    assert.equal(second.client.received.length, 0);
    await lose(second.client);
    const third = await login(b, KEPT);
    await turns();
    assert.equal(third.client.received.length, 0, 'acknowledged the second time');
  });

  test('[MQTT-4.8.0-1] a delivery acknowledged as one of QoS 2 closes the connection, and goes out again', async (t) => {
    const b = await startTestBroker(t);
    let client = await subscribed(b);
    await b.broker.publish('to/a/x', 'd1');
    for (const type of [0x50, 0x70]) {
      client.send([type, 2], idOf(await client.take(SIZE)));
      await client.closed();
      ({ client } = await login(b, KEPT));
    }
    assert.equal((await client.take(SIZE))[0], 0x3a);
  });

  test('an unacknowledged delivery does not share its packet identifier with new ones', async (t) => {
    const b = await startTestBroker(t);
    let client = await subscribed(b);
    const pending = new Set<string>();
    for (let round = 0; round < 5; round++) {
      for (let count = 0; count < 20; count++) await b.broker.publish('to/a/x', 'hi');
      const seen = await client.take(SIZE * (20 * (round + 1)));
      for (let at = 0; at < seen.length; at += SIZE)
        pending.add(idOf(seen.subarray(at, at + SIZE)).toString('hex'));
      assert.equal(pending.size, 20 * (round + 1));
      await lose(client);
      ({ client } = await login(b, KEPT));
    }
  });

  test('an unacknowledged delivery does not go out again when nobody wants it any more', async (t) => {
    const b = await startTestBroker(t);
    const first = await subscribed(b);
    let isOver = false;
    await b.broker.publish('to/a/x', 'c1', () => !isOver);
    await b.broker.publish('to/a/x', 'c2', () => true);
    await first.take(2 * SIZE);
    await lose(first);
    isOver = true;
    const { client } = await login(b, KEPT);
    assert.match(await client.takeHex(SIZE), /6332$/);
    await turns();
    assert.equal(client.received.length, 0);
  });

  for (const [title, again] of [
    ['of a clean session', { clientId: 'meter', clean: true }],
    ['of another client id', { clientId: 'other', clean: false }],
    ['of another identity', { ...KEPT, username: 'b' }],
  ] as const)
    test(`an unacknowledged delivery does not go to the session ${title}`, async (t) => {
      const b = await startTestBroker(t);
      const first = await subscribed(b);
      await b.broker.publish('to/a/x', 'hi');
      await first.take(SIZE);
      await lose(first);
      const { client, connack } = await login(b, again);
      assert.equal(connack, '20020000');
      await turns();
      assert.equal(client.received.length, 0);
    });

  test('an unacknowledged delivery at QoS 0 is not kept', async (t) => {
    const b = await startTestBroker(t);
    const { client } = await login(b, KEPT);
    client.send(subscribeBytes(1, ['to/a/x', 0]));
    await client.take(5);
    await b.broker.publish('to/a/x', 'hi');
    await client.take(SIZE - 2);
    await lose(client);
    const second = await login(b, KEPT);
    await turns();
    assert.equal(second.client.received.length, 0);
  });

  test('an unacknowledged delivery is followed by what is published meanwhile, and what a take-over interrupts comes again', async (t) => {
    const b = await startTestBroker(t);
    const first = await subscribed(b);
    await b.broker.publish('to/a/x', 'd1');
    await first.take(SIZE);
    const second = await login(b, KEPT);
    await b.broker.publish('to/a/x', 'd2');
    const seen = await second.client.takeHex(2 * SIZE);
    assert.match(seen, /6431/);
    assert.match(seen, /6432$/);
  });

  test('an unacknowledged delivery is not kept for a client that leaves too many bytes unacknowledged', async (t) => {
    const b = await startTestBroker(t, { limits: { unacknowledgedBytes: 10_000 } });
    const client = await subscribed(b);
    for (let count = 0; count < 11; count++) await b.broker.publish('to/a/x', Buffer.alloc(1_000));
    await client.closed();
    assert.equal(await metric(b, 'mqtt_closes_total{reason="unacknowledged_deliveries"}'), '1');
    const second = await login(b, KEPT);
    await turns();
    assert.equal(second.client.received.length, 0);
  });
});
