/** Field traces as the module records them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { beginExchange, type Exchange, httpText, Traces } from '../../src/field-module/trace.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { decodeFromModule, encodeModuleMessage, type FromModule } from '../../src/protocol/module.ts';
import { TestClock } from '../support/test-clock.ts';

type Entries = FromModule & { type: 'trace_entries' };

function setUp() {
  const clock = new TestClock();
  const sent: Entries[] = [];
  const link = { isUp: true, isClockBelieved: true, changes: 0 };
  const traces = new Traces({
    clock,
    limits: LIMITS.trace,
    send: (message) => {
      // As the gateway gets it.
      const decoded = decodeFromModule(Buffer.from(encodeModuleMessage(message)));
      if (!('message' in decoded)) assert.fail(decoded.problem);
      if (link.isUp) sent.push(decoded.message as Entries);
      return link.isUp;
    },
    isClockBelieved: () => link.isClockBelieved,
    onChanged: () => void (link.changes += 1),
  });
  const follow = (durationMs: number): void =>
    traces.follow({ type: 'trace', channel_id: 'roof', duration_ms: durationMs });
  return { clock, sent, link, traces, follow };
}

const read: Exchange = {
  transport: 'modbus_tcp',
  address: 'tcp://a:502',
  unitId: 1,
  atMs: 5,
  durationMs: 3.4,
  sent: Buffer.of(1, 2),
  received: Buffer.of(255),
};

describe('a field trace in a module', () => {
  test('a field trace in a module is off until the gateway asks, confirms at once, and sends what comes in one message', async () => {
    const { clock, sent, traces, follow } = setUp();
    assert.equal(traces.of('roof'), undefined);
    follow(60_000);
    assert.deepEqual(sent, [{ type: 'trace_entries', channel_id: 'roof', entries: [], dropped: 0 }]);
    assert.equal(traces.of('cellar'), undefined);
    traces.of('roof')?.(read);
    traces.of('roof')?.({ ...read, received: undefined, error: 'timeout' });
    await clock.advance(LIMITS.trace.sendMs);
    assert.deepEqual(
      sent[1]?.entries.map(({ sent: hex, received, duration_ms: tookMs, error }) => [
        hex,
        received,
        tookMs,
        error,
      ]),
      [
        ['0102', 'ff', 3, undefined],
        ['0102', undefined, 3, 'timeout'],
      ],
    );
    await clock.advance(LIMITS.trace.sendMs * 3);
    assert.equal(sent.length, 2);
  });

  test('a field trace in a module ends by itself, and when the gateway ends it, with its last exchanges', async () => {
    const { clock, sent, link, traces, follow } = setUp();
    follow(1_200);
    await clock.advance(1_100);
    traces.of('roof')?.(read);
    await clock.advance(100);
    assert.deepEqual([traces.channels, sent.at(-1)?.entries.length, link.changes], [[], 1, 2]);
    follow(60_000);
    traces.of('roof')?.(read);
    follow(0);
    assert.deepEqual([traces.channels, sent.at(-1)?.entries.length], [[], 1]);
  });

  test('a field trace in a module leaves out and counts what is too much for one message, in number and in bytes', async () => {
    const { clock, sent, link, traces, follow } = setUp();
    follow(60_000);
    for (let index = 0; index < LIMITS.trace.entriesAtOnce + 5; index += 1) traces.of('roof')?.(read);
    link.isUp = false;
    await clock.advance(LIMITS.trace.sendMs);
    assert.equal(sent.length, 1);
    link.isUp = true;
    await clock.advance(LIMITS.trace.sendMs);
    assert.deepEqual([sent[1]?.entries.length, sent[1]?.dropped], [LIMITS.trace.entriesAtOnce, 5]);
    const large = { ...read, sent: Buffer.alloc(LIMITS.trace.messageBytes + 1, 1), received: undefined };
    const fitting = Math.floor(LIMITS.trace.bytesAtOnce / LIMITS.trace.messageBytes);
    for (let index = 0; index <= fitting; index += 1) traces.of('roof')?.(large);
    await clock.advance(LIMITS.trace.sendMs);
    assert.deepEqual([sent[2]?.entries.length, sent[2]?.dropped], [fitting, 1]);
    const [cut] = sent[2]?.entries ?? [];
    assert.deepEqual([cut?.sent?.length, cut?.is_cut], [LIMITS.trace.messageBytes * 2, true]);
  });

  test('a field trace in a module has no time while the clock of the board is wrong', async () => {
    const { clock, sent, link, traces, follow } = setUp();
    follow(60_000);
    link.isClockBelieved = false;
    traces.of('roof')?.(read);
    await clock.advance(LIMITS.trace.sendMs);
    assert.equal(sent[1]?.entries[0]?.at_ms, undefined);
  });

  test('a field trace in a module removes logins and secrets from texts before it sends them', async () => {
    const { clock, sent, traces, follow } = setUp();
    follow(60_000);
    const headers = [
      ['X-Anything', 'abc'],
      ['accept', 'a/b'],
    ] as const;
    const body = Buffer.from('{"password":"abc","power":1}');
    traces.of('roof')?.({
      transport: 'http',
      address: 'http://u:abc@a/b?token=abc',
      atMs: 1,
      sent: httpText('GET /b?token=abc', headers, body),
      received: httpText('200', [], Buffer.of(255, 0)),
    });
    await clock.advance(LIMITS.trace.sendMs);
    const [entry] = sent[1]?.entries ?? [];
    const text = Buffer.from(entry?.sent ?? '', 'hex').toString();
    assert.ok(!`${text} ${entry?.address}`.includes('abc'), text);
    assert.match(text, /accept: a\/b\n/);
    assert.match(text, /"power":1/);
    assert.equal(Buffer.from(entry?.received ?? '', 'hex').toString(), '200\n\n(2 bytes that are no text)');
  });

  test('a field trace in a module has two entries for a repeated request, and one for bytes that answer no request', () => {
    const clock = new TestClock();
    const noted: Exchange[] = [];
    const about = { transport: 'modbus_rtu', address: 'port://a', unitId: 1 } as const;
    const exchange = beginExchange((one) => void noted.push(one), clock, about);
    exchange.onBytes('received', Buffer.of(9));
    exchange.onBytes('sent', Buffer.of(1));
    exchange.onBytes('sent', Buffer.of(2));
    exchange.onBytes('received', Buffer.of(3));
    exchange.onBytes('received', Buffer.of(4));
    exchange.end(undefined);
    assert.deepEqual(
      noted.map(({ sent, received, error }) => [sent && [...sent], received && [...received], error]),
      [
        [undefined, [9], 'answers no request'],
        [[1], undefined, 'no answer'],
        [[2], [3, 4], undefined],
      ],
    );
  });
});
