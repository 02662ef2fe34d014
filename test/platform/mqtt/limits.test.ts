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
  sessionsPerIdentity: ['login', 'the sessions of one identity are bounded'],
  sessions: ['login', 'is limited for all together by CONNACK 3'],
  subscriptionsPerSession: ['delivery', 'beyond the 32nd is refused'],
  failedLoginsPerMinute: ['login', 'is answered late after too many failures from one address'],
  failedLoginDelayMs: ['login', 'is answered late after too many failures from one address'],
  messagesPerSecond: ['publications', 'beyond its burst drops QoS 0'],
  messageBurst: ['publications', 'beyond its burst drops QoS 0'],
  countedBytes: ['fairness', 'a large message counts as several'],
  countedWorkMs: ['fairness', 'a message that takes long counts as several'],
  turnWorkMs: ['fairness', 'the work of all identities ends with the turn'],
  sliceWorkMs: ['fairness', 'waits for the others once it has had its slice'],
  packetBytes: ['limits', 'that announces more than the largest'],
  requestPacketBytes: ['limits', 'that announces more than the largest'],
  connectPacketBytes: ['limits', 'that announces more than the largest'],
  connectTimeoutMs: ['login', 'must begin within the limit'],
  keepAliveDefaultS: ['login', 'is treated as 300 s when it is 0'],
  outboundQueuedBytes: ['delivery', 'a subscriber that does not read is disconnected'],
  connectionsPerAddress: ['admission', 'is closed before a byte is read while all others of its address'],
  connections: ['admission', 'is closed before a byte is read while all others have logged in'],
  connectsPerSecond: ['admission', 'from one address are refused until its rate recovers'],
  connectBurst: ['admission', 'from one address are refused until its rate recovers'],
  inFlightMessages: ['publications', 'pauses reading at its number of messages'],
  inFlightBytes: ['publications', 'pauses reading at its number of bytes'],
  inFlightBytesInAll: ['common-promise', 'many connections share the limit of messages in flight'],
  awaitedMs: ['awaited', 'counts as waiting when it sends the next message only after the acknowledgement'],
  steadyMs: ['awaited', 'does not count as waiting when it sends every second'],
  rareMs: ['awaited', 'a client that sends rarely gets a quick commit'],
  rareSenders: ['awaited', 'shares its commit with others when many send rarely'],
  rareWindowMs: ['awaited', 'shares its commit with others that send at the same moment'],
  awaitedInRow: [
    'awaited',
    'counts as waiting when it sends the next message only after the acknowledgement',
  ],
  awaitedInRowMax: ['awaited', 'that waited by chance counts as waiting ever more rarely'],
  unacknowledgedBytes: ['redelivery', 'leaves too many bytes unacknowledged'],
  unacknowledgedDeliveries: [
    'delivery',
    'a subscriber that leaves deliveries unacknowledged is disconnected',
  ],
  retainedMessages: ['retained', 'no more messages or bytes than the limits'],
  retainedBytes: ['retained', 'no more messages or bytes than the limits'],
  keptSessionsPerIdentity: ['delivery', 'is one of eight per identity'],
  closeTimeoutMs: ['stop', 'does not wait for a client that never closes its side'],
  stopTimeoutMs: ['stop', 'acknowledges nothing that is still pending at its limit'],
};

describe('the limit', () => {
  for (const [limit, [file, title]] of Object.entries(REACHED_BY))
    test(`the limit ${limit} is reached by a test`, () => {
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
    test(`a packet of ${what} that announces more than the largest is refused before its body comes`, async (t) => {
      const b = await startTestBroker(t);
      const connected = what !== 'CONNECT';
      const client = connected ? (await login(b)).client : b.raw();
      client.send(announcing(firstByte, limitBytes + 1));
      await client.closed();
      assert.equal(await metric(b, 'mqtt_closes_total{reason="packet_too_large"}'), '1');
    });

  test('a CONNECT as large as the limit is read', async (t) => {
    const b = await startTestBroker(t);
    const will = { topic: 'from/a/x', payload: 'w'.repeat(LIMITS.mqtt.connectPacketBytes - 40) };
    const client = b.raw();
    const bytes = connectBytes({ will });
    assert.ok(bytes.length <= LIMITS.mqtt.connectPacketBytes && bytes.length > 16_300, `${bytes.length}`);
    client.send(bytes);
    assert.equal(await client.takeHex(4), CONNACK_ACCEPTED);
  });
});
