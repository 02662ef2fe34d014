/** Thousands of hostile byte sequences against one broker, with a well-behaved client beside them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  array,
  assert as check,
  asyncProperty,
  constant,
  constantFrom,
  integer,
  nat,
  oneof,
  option,
  record,
  tuple,
  uint8Array,
} from 'fast-check';
import { startTestBroker, turns } from '../../support/mqtt.ts';
import {
  connectBytes,
  DISCONNECT,
  packet,
  PINGREQ,
  publishBytes,
  pubrelBytes,
  subscribeBytes,
  unsubscribeBytes,
} from '../../support/mqtt-bytes.ts';
import { settle } from '../../support/test-clock.ts';
import { runs } from '../../support/runs.ts';

const SEQUENCES = runs(5) * 100;

const valid = oneof(
  constant(connectBytes()),
  constant(connectBytes({ clientId: 'kept', clean: false })),
  constant(connectBytes({ will: { topic: 'from/a/will', payload: 'w', qos: 1 } })),
  constantFrom(PINGREQ, DISCONNECT, pubrelBytes(1), pubrelBytes(2)),
  tuple(nat(2), nat(3), nat(300)).map(([qos, packetId, sizeBytes]) =>
    publishBytes('from/a/x', Buffer.alloc(sizeBytes, 'p'), { qos, packetId: packetId + 1 }),
  ),
  tuple(constantFrom('to/a/x', 'to/a/#', '#', '+/+', 'to/b/x'), nat(2)).map(([filter, qos]) =>
    subscribeBytes(3, [filter, qos]),
  ),
  constantFrom('to/a/x', 'to/a/#').map((filter) => unsubscribeBytes(4, filter)),
);

/** A right packet with one thing wrong, or none. */
const bent = tuple(
  valid,
  option(record({ at: nat(10_000), to: nat(255) })),
  option(nat(10_000)),
  option(uint8Array({ maxLength: 20 })),
).map(([bytes, change, cutAt, tail]) => {
  const copy = Buffer.from(bytes);
  if (change) copy[change.at % copy.length] = change.to;
  const shorter = cutAt === null ? copy : copy.subarray(0, cutAt % (copy.length + 1));
  return tail ? Buffer.concat([shorter, tail]) : shorter;
});

const noise = uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes));
/** A fixed header that announces what never comes. */
const promise = tuple(nat(255), integer({ min: 0, max: 268_435_455 }), noise).map(
  ([firstByte, length, body]) =>
    Buffer.concat([
      Buffer.from([
        firstByte,
        (length & 0x7f) | 0x80,
        ((length >> 7) & 0x7f) | 0x80,
        ((length >> 14) & 0x7f) | 0x80,
        (length >> 21) & 0x7f,
      ]),
      body,
    ]),
);
const framed = tuple(nat(255), noise).map(([firstByte, body]) => packet(firstByte, body));

const attack = record({
  login: option(constant(connectBytes({ clientId: 'hostile' })), { freq: 4 }),
  parts: array(oneof(bent, bent, valid, noise, framed, promise), { minLength: 1, maxLength: 8 }),
  chunkBytes: constantFrom(1, 2, 7, 64, 100_000),
  leavesAbruptly: constantFrom(true, false),
});

/** What is left after a collection; resident memory also has the garbage of other tests of this process. */
function retainedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

describe('the broker under attack', () => {
  test('the broker under attack survives hostile sequences, keeps its memory and serves the client beside', async (t) => {
    const { broker, raw, client, clock, opened, closed, lines } = await startTestBroker(t, {
      limits: {
        messagesPerSecond: 1_000_000,
        messageBurst: 1_000_000,
        failedLoginsPerMinute: 1_000_000,
        connectBurst: 1_000_000,
      },
      hook: { onMessage: () => undefined },
    });
    const beside = await client('beside', { keepalive: 0 });
    let heard = 0;
    beside.on('message', () => void heard++);
    await beside.subscribeAsync('to/beside/x', { qos: 1 });
    let count = 0;
    let usedAfterWarmUp = 0;
    await check(
      asyncProperty(attack, async ({ login, parts, chunkBytes, leavesAbruptly }) => {
        const hostile = raw('10.6.6.6');
        const bytes = Buffer.concat(login ? [login, ...parts] : parts);
        for (let offset = 0; offset < bytes.length; offset += chunkBytes)
          hostile.send(bytes.subarray(offset, offset + chunkBytes));
        await turns(12);
        if (leavesAbruptly) hostile.stream.destroy();
        else hostile.stream.end();
        await hostile.closed();
        count++;
        if (count % 100 === 0) {
          assert.equal(await broker.publish('to/beside/x', 'still there'), 1);
          await beside.publishAsync('from/beside/x', 'me too', { qos: 1 });
        }
        if (count === SEQUENCES / 5) usedAfterWarmUp = retainedBytes();
      }),
      { numRuns: SEQUENCES },
    );
    assert.equal(count, SEQUENCES);
    assert.equal(heard, SEQUENCES / 100);
    // Attackers leave only kept sessions, which are bounded.
    assert.equal(broker.sessionCount(), 1);
    assert.equal(opened.length, closed.length + 1);
    assert.equal(clock.waiting, 1, 'only the keep-alive of the client beside');
    const grownBytes = retainedBytes() - usedAfterWarmUp;
    assert.ok(grownBytes < 10 * 1_048_576, `grew by ${grownBytes} bytes`);
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('the broker under attack uses little memory while 500 connections announce the largest packet and send a byte at a time', async (t) => {
    const { raw, broker } = await startTestBroker(t, {
      limits: { sessionsPerIdentity: 1_000 },
    });
    const before = process.memoryUsage().arrayBuffers;
    const clients = Array.from({ length: 500 }, () => raw('10.6.6.7'));
    for (const hostile of clients) hostile.send(connectBytes(), [0x30, 0x80, 0x80, 0x10], [0]);
    await Promise.all(clients.map((hostile) => hostile.take(4)));
    for (let turn = 0; turn < 20; turn++) {
      for (const hostile of clients) hostile.send([0]);
      await settle();
    }
    assert.equal(broker.sessionCount('a'), 500);
    const grownBytes = process.memoryUsage().arrayBuffers - before;
    assert.ok(grownBytes < 10 * 1_048_576, `${grownBytes} bytes for 500 connections`);
    for (const hostile of clients) hostile.stream.destroy();
  });
});
