/** What one identity sends must not make the others wait: work counts, not only messages. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MqttMessage } from '../../../src/platform/mqtt/index.ts';
import { login, metric, startTestBroker, type TestBroker, turns } from '../../support/mqtt.ts';
import { publishBytes } from '../../support/mqtt-bytes.ts';

/** A broker whose messages take as long as their payload says, in milliseconds. */
async function workingBroker(
  t: Parameters<typeof startTestBroker>[0],
  limits: NonNullable<Parameters<typeof startTestBroker>[1]>['limits'] = {},
): Promise<TestBroker> {
  const messages: MqttMessage[] = [];
  const b: TestBroker = await startTestBroker(t, {
    limits,
    hook: {
      onMessage: (message) => {
        messages.push(message);
        b.clock.spend(Number.parseFloat(message.payload.toString()));
      },
    },
  });
  return { ...b, messages };
}

const message = (identity: string, workMs: number | string): Buffer =>
  publishBytes(`from/${identity}/x`, `${workMs}`, { qos: 1, packetId: 1 });

const repeated = (count: number, part: Buffer): Buffer[] => Array.from({ length: count }, () => part);

const senders = (b: TestBroker): string => b.messages.map(({ session }) => session.identity.key).join('');

describe('a message', () => {
  const RATE = { messagesPerSecond: 10, messageBurst: 10, sliceWorkMs: 1e9, turnWorkMs: 1e9 };

  test('a message that takes long counts as several: its sender is slowed down, the message stays', async (t) => {
    const b = await workingBroker(t, { ...RATE, countedWorkMs: 2 });
    const { client } = await login(b);
    client.send(message('a', 40), message('a', 0));
    await turns();
    assert.equal(b.messages.length, 1);
    assert.equal(await metric(b, 'mqtt_throttled_total'), '1');
    await b.clock.advance(900);
    assert.equal(b.messages.length, 1, '20 messages at 10 a second, 10 of them at once');
    await b.clock.advance(200);
    assert.equal(b.messages.length, 2);
    assert.equal((await client.takeHex(8)).length, 16);
  });

  test('a large message counts as several', async (t) => {
    const b = await workingBroker(t, { ...RATE, countedBytes: 100 });
    const { client } = await login(b);
    client.send(message('a', '0'.repeat(2_000)), message('a', 0));
    await turns();
    assert.equal(b.messages.length, 1);
    await b.clock.advance(1_200);
    assert.equal(b.messages.length, 2);
  });

  test('a small and quick message counts as one', async (t) => {
    const b = await workingBroker(t, { ...RATE, countedBytes: 100, countedWorkMs: 2 });
    const { client } = await login(b);
    client.send(...repeated(10, message('a', 1.9)));
    await turns();
    assert.equal(b.messages.length, 10);
    assert.equal(await metric(b, 'mqtt_throttled_total'), '0');
  });
});

describe('the work', () => {
  test('the work of an identity waits for the others once it has had its slice', async (t) => {
    const b = await workingBroker(t, { sliceWorkMs: 2, turnWorkMs: 10 });
    const [costly, second, quick] = [
      await login(b),
      await login(b),
      await login(b, { username: 'b' }),
    ] as const;
    costly.client.send(...repeated(6, message('a', 3)));
    second.client.send(...repeated(6, message('a', 3)));
    quick.client.send(message('b', 0), message('b', 0));
    await turns(30);
    assert.equal(b.messages.length, 14, 'nothing is lost');
    assert.ok(senders(b).indexOf('bb') <= 2, senders(b));
    await quick.client.take(8);
    await costly.client.take(24);
  });

  test('the work of all identities ends with the turn; each that waits gets its slice in order', async (t) => {
    const b = await workingBroker(t, { sliceWorkMs: 5, turnWorkMs: 10 });
    const names = ['a', 'b', 'c', 'd', 'e', 'f'];
    const clients = await Promise.all(names.map((username) => login(b, { username })));
    const beforeMs = b.clock.monotonicMs();
    let turnEndMs = 0;
    for (const [index, { client }] of clients.entries()) {
      const name = names[index] ?? '';
      client.send(...repeated(3, message(name, 6)));
    }
    setImmediate(() => (turnEndMs = b.clock.monotonicMs()));
    await turns(60);
    assert.ok(turnEndMs - beforeMs <= 18, `${turnEndMs - beforeMs} ms in the first turn`);
    assert.equal(b.messages.length, 18);
    const order = senders(b);
    // Two were worked off before there was a queue.
    for (const from of [2, 8]) assert.equal(new Set(order.slice(from, from + 6)).size, 6, order);
  });

  test('waiting work is dropped with its connection', async (t) => {
    const b = await workingBroker(t, { sliceWorkMs: 2, turnWorkMs: 10 });
    const { client } = await login(b);
    client.send(...repeated(50, message('a', 3)));
    client.stream.destroy();
    await turns(100);
    assert.ok(b.messages.length < 50);
    assert.equal(b.broker.sessionCount(), 0);
  });
});
