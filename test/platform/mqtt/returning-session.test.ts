/** What is published in the very moment in which a kept session returns. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { login, type RawClient, startTestBroker, type TestBroker, turns } from '../../support/mqtt.ts';
import { connectBytes, subscribeBytes } from '../../support/mqtt-bytes.ts';

const KEPT = { clientId: 'meter', clean: false };
const CONNACK_BYTES = 4;
/** Turns of the event loop that a return takes, and some more. */
const TURNS = 24;

interface Delivery {
  text: string;
  isDuplicate: boolean;
}

/** Deliveries of publications to `to/a/x` at one QoS. */
function deliveriesIn(received: Buffer, qos: 0 | 1): Delivery[] {
  const deliveries: Delivery[] = [];
  for (let at = 0; at < received.length; at += 2 + (received[at + 1] ?? 0))
    deliveries.push({
      text: received.toString('latin1', at + (qos === 0 ? 10 : 12), at + 2 + (received[at + 1] ?? 0)),
      isDuplicate: ((received[at] ?? 0) & 8) !== 0,
    });
  return deliveries;
}

/** A session that has two deliveries without their PUBACK, and is away. */
async function leave(b: TestBroker, qos: 0 | 1): Promise<void> {
  const { client } = await login(b, KEPT);
  client.send(subscribeBytes(1, ['to/a/x', qos]));
  await client.take(5);
  for (const text of ['d1', 'd2']) await b.broker.publish('to/a/x', text);
  await turns();
  client.stream.destroy();
  await client.closed();
  await turns();
}

/** Returns, and publishes after so many turns; resolves with whom that reached. */
async function publishWhileReturning(
  b: TestBroker,
  turn: number,
): Promise<{ client: RawClient; reached: number }> {
  const client = b.raw();
  client.send(connectBytes(KEPT));
  for (let count = 0; count < turn; count++) await setImmediate();
  const reached = await b.broker.publish('to/a/x', 'new');
  await turns(TURNS);
  return { client, reached };
}

describe('a publication while a kept session returns', () => {
  for (let turn = 0; turn < TURNS; turn++) {
    test(`a publication while a kept session returns goes out once, behind what comes again, ${turn} turns after CONNECT`, async (t) => {
      const b = await startTestBroker(t);
      await leave(b, 1);
      const { client, reached } = await publishWhileReturning(b, turn);
      const again = ['d1', 'd2'].map((text) => ({ text, isDuplicate: true }));
      const first = Array.from({ length: reached }, () => ({ text: 'new', isDuplicate: false }));
      assert.deepEqual(deliveriesIn(client.received.subarray(CONNACK_BYTES), 1), [...again, ...first]);
    });

    test(`a publication while a kept session returns goes out at QoS 0 if it counts as sent, ${turn} turns after CONNECT`, async (t) => {
      const b = await startTestBroker(t);
      await leave(b, 0);
      const { client, reached } = await publishWhileReturning(b, turn);
      const expected = Array.from({ length: reached }, () => ({ text: 'new', isDuplicate: false }));
      assert.deepEqual(deliveriesIn(client.received.subarray(CONNACK_BYTES), 0), expected);
    });
  }
});
