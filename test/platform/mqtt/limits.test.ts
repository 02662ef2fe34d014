/** Every limit of the broker is reached by a test. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { connectBytes, CONNACK_ACCEPTED } from '../../support/mqtt-bytes.ts';
import { login, metric, startTestBroker } from '../../support/mqtt.ts';

/** Limit → file and title of the test that reaches it. */
const REACHED_BY: Record<keyof typeof LIMITS.mqtt, readonly [file: string, title: string]> = {
  payloadBytes: ['forbidden', 'closes the connection for a payload of one byte over the limit'],
  topicBytes: ['forbidden', 'closes the connection for a topic'],
  topicLevels: ['forbidden', 'closes the connection for a topic'],
  sessionsPerIdentity: ['login', 'of one identity is limited: the one that was silent the longest'],
  sessions: ['login', 'in all is limited by CONNACK 3'],
  subscriptionsPerSession: ['delivery', 'beyond the 32nd is refused'],
  failedLoginsPerMinute: ['login', 'that fails too often from one address is answered late'],
  failedLoginDelayMs: ['login', 'that fails too often from one address is answered late'],
  messagesPerSecond: ['publications', 'beyond its burst drops QoS 0'],
  messageBurst: ['publications', 'beyond its burst drops QoS 0'],
  countedBytes: ['fairness', 'that is large counts as several'],
  countedWorkMs: ['fairness', 'that takes long counts as several'],
  turnWorkMs: ['fairness', 'of all identities together ends with the turn'],
  sliceWorkMs: ['fairness', 'of one identity waits for the others'],
  packetBytes: ['limits', 'that announces more than the largest'],
  requestPacketBytes: ['limits', 'that announces more than the largest'],
  connectPacketBytes: ['limits', 'that announces more than the largest'],
  connectTimeoutMs: ['login', 'must begin within the limit'],
  keepAliveDefaultS: ['login', 'of 0 is treated as 300 s'],
  outboundQueuedBytes: ['delivery', 'is cut off when it does not read what it subscribed to'],
  connectionsPerAddress: ['admission', 'of its address is closed before a byte is read'],
  connections: ['admission', 'in all is closed before a byte is read'],
  connectsPerSecond: ['admission', 'from one address are refused until its rate is kept again'],
  connectBurst: ['admission', 'from one address are refused until its rate is kept again'],
  inFlightMessages: ['publications', 'stops the reading at its number of messages'],
  inFlightBytes: ['publications', 'stops the reading at its number of bytes'],
  inFlightBytesInAll: ['common-promise', 'share what all may have in flight'],
  awaitedMs: ['awaited', 'that sends on only after its acknowledgement is known to wait'],
  steadyMs: ['awaited', 'that speaks every second is not, however late it is acknowledged'],
  rareMs: ['awaited', 'that speaks seldom is waited for beside others that never pause'],
  rareSenders: ['awaited', 'that is one of many who speak seldom shares with them'],
  rareWindowMs: ['awaited', 'that speaks at the same moment as many others shares with them'],
  awaitedInRow: ['awaited', 'that sends on only after its acknowledgement is known to wait'],
  awaitedInRowMax: ['awaited', 'that was taken for one that waits by chance is so ever more seldom'],
  unacknowledgedBytes: ['redelivery', 'leaves too many bytes unacknowledged'],
  unacknowledgedDeliveries: ['delivery', 'is cut off when it leaves deliveries unacknowledged'],
  keptSessionsPerIdentity: ['delivery', 'is one of eight per identity'],
  closeTimeoutMs: ['stop', 'does not wait for a client that never closes its side'],
  stopTimeoutMs: ['stop', 'sends no acknowledgement of what is still pending at its limit'],
};

describe('the limit', () => {
  for (const [limit, [file, title]] of Object.entries(REACHED_BY))
    test(`${limit} is reached by a test`, () => {
      const text = readFileSync(join(import.meta.dirname, `${file}.test.ts`), 'utf8');
      assert.ok(text.includes(title), `${file}.test.ts has a test "${title}"`);
    });
});

describe('a packet', () => {
  /** Fixed header with a remaining length of up to four bytes. */
  const announcing = (firstByte: number, sizeBytes: number): number[] => [
    firstByte,
    (sizeBytes & 0x7f) | 0x80,
    ((sizeBytes >> 7) & 0x7f) | 0x80,
    sizeBytes >> 14,
  ];

  for (const [what, firstByte, limitBytes] of [
    ['CONNECT', 0x10, LIMITS.mqtt.connectPacketBytes],
    ['PUBLISH', 0x30, LIMITS.mqtt.packetBytes],
    ['SUBSCRIBE', 0x82, LIMITS.mqtt.requestPacketBytes],
    ['UNSUBSCRIBE', 0xa2, LIMITS.mqtt.requestPacketBytes],
  ] as const)
    test(`${what} that announces more than the largest is refused before its body comes`, async (t) => {
      const b = await startTestBroker(t);
      const connected = what !== 'CONNECT';
      const client = connected ? (await login(b)).client : b.raw();
      client.send(announcing(firstByte, limitBytes + 1));
      await client.closed();
      assert.equal(await metric(b, 'mqtt_closes_total{reason="packet_too_large"}'), '1');
    });

  test('CONNECT as large as the largest is read', async (t) => {
    const b = await startTestBroker(t);
    const will = { topic: 'from/a/x', payload: 'w'.repeat(LIMITS.mqtt.connectPacketBytes - 40) };
    const client = b.raw();
    const bytes = connectBytes({ will });
    assert.ok(bytes.length <= LIMITS.mqtt.connectPacketBytes && bytes.length > 16_300, `${bytes.length}`);
    client.send(bytes);
    assert.equal(await client.takeHex(4), CONNACK_ACCEPTED);
  });
});
