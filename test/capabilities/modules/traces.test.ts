/** Field traces as the gateway keeps them, with a module that the test plays. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { traceImage } from '../../../src/capabilities/modules/trace-image.ts';
import { DeviceTraces, type TracedExchange } from '../../../src/capabilities/modules/traces.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { ToModule, TraceEntry } from '../../../src/protocol/module.ts';
import { TestClock } from '../../support/test-clock.ts';

const device = (id: string): Device =>
  ({ id, name: id, communication: { upstreamId: 'board', channelId: `channel-${id}` } }) as Device;
const [ROOF, CELLAR] = [device('roof'), device('cellar')];

function setUp(secrets: readonly string[] = [], limits = LIMITS) {
  const clock = new TestClock();
  const sent: (ToModule & { type: 'trace' })[] = [];
  const traces = new DeviceTraces({
    clock,
    limits,
    moduleOf: ({ communication }) => (communication.upstreamId === undefined ? undefined : device('board')),
    send: (_, message) => {
      if (message.type === 'trace') sent.push(message);
    },
    secretsOf: () => secrets,
  });
  const receive = (entries: TraceEntry[], dropped = 0): void =>
    traces.receive(ROOF, { type: 'trace_entries', channel_id: 'channel-roof', entries, dropped });
  return { clock, sent, traces, receive };
}

const frame = (sent: string, received?: string): TraceEntry => ({
  at_ms: 1_000,
  transport: 'modbus_tcp',
  address: 'tcp://a:502',
  unit_id: 1,
  sent,
  received,
});

describe('a field trace in the gateway', () => {
  test('a field trace in the gateway is refused when as many devices are traced as may be, and not for one of these', () => {
    const { traces } = setUp();
    for (let index = 0; index < LIMITS.trace.devices; index += 1)
      traces.start(device(`d${index}`), LIMITS.trace.durationMs);
    assert.throws(() => traces.start(ROOF, LIMITS.trace.durationMs), { code: 'trace_limit_reached' });
    traces.start(device('d0'), LIMITS.trace.durationMs);
    traces.stop(device('d1'));
    traces.start(ROOF, LIMITS.trace.durationMs);
  });

  test('a field trace begins with the confirmation of its module, and ends by itself or when it is stopped', async () => {
    const { clock, sent, traces, receive } = setUp();
    traces.start(ROOF, 60_000);
    assert.deepEqual(sent, [{ type: 'trace', channel_id: 'channel-roof', duration_ms: 60_000 }]);
    assert.equal(traces.of(ROOF)?.state, 'STARTING');
    receive([]);
    assert.equal(traces.of(ROOF)?.state, 'RUNNING');
    await clock.advance(60_000);
    assert.equal(traces.of(ROOF)?.state, 'ENDED');
    // What the module still held when its time was over.
    receive([frame('01')]);
    assert.equal(traces.of(ROOF)?.exchanges.length, 1);
    await clock.advance(LIMITS.module.answerMs + 1);
    receive([frame('02')]);
    assert.equal(traces.of(ROOF)?.exchanges.length, 1);
    traces.start(ROOF, 60_000);
    traces.stop(ROOF);
    assert.equal(sent.at(-1)?.duration_ms, 0);
  });

  test('a field trace is requested again for the rest of its time when its module has restarted', async () => {
    const { clock, sent, traces } = setUp();
    traces.start(ROOF, 60_000);
    await clock.advance(20_000);
    traces.resume([ROOF, CELLAR]);
    assert.equal(sent.at(-1)?.duration_ms, 40_000);
    await clock.advance(40_000);
    traces.resume([ROOF]);
    assert.equal(sent.length, 2);
  });

  test('a field trace keeps the newest exchanges by number and by bytes, and counts the others', () => {
    const small = { ...LIMITS, trace: { ...LIMITS.trace, entries: 3, bytes: 6 } };
    const { traces, receive } = setUp([], small);
    traces.start(ROOF, 60_000);
    receive([frame('01'), frame('02'), frame('03'), frame('04')], 2);
    const numbers = (): number[] => (traces.of(ROOF)?.exchanges ?? []).map(({ number }) => number);
    assert.deepEqual([numbers(), traces.of(ROOF)?.dropped], [[2, 3, 4], 3]);
    receive([frame('0102', '03040506')]);
    assert.deepEqual([numbers(), traces.of(ROOF)?.dropped], [[5], 6]);
  });

  test('ended traces are forgotten oldest first, and those of a deleted device', () => {
    const { traces } = setUp();
    for (let index = 0; index < LIMITS.trace.devices + 2; index += 1) {
      traces.start(device(`d${index}`), 60_000);
      traces.stop(device(`d${index}`));
    }
    assert.equal(traces.all().length, LIMITS.trace.devices);
    assert.equal(traces.of(device('d0')), undefined);
    traces.forget(device('d3'));
    assert.equal(traces.of(device('d3')), undefined);
  });

  test('a field trace shows no sensitive value of the configuration, neither in texts nor in bytes', () => {
    const secret = 'open sesame';
    const { traces, receive } = setUp([secret, '7']);
    traces.start(ROOF, 60_000);
    const hex = (text: string): string => Buffer.from(text).toString('hex');
    receive([
      { at_ms: 1, transport: 'mqtt', address: `a/${secret}`, received: hex(`{"k":"${secret}","n":7}`) },
      { at_ms: 1, transport: 'tcp', address: 'tcp://a:1', sent: hex(`x${secret}y`), error: `no ${secret}` },
      { at_ms: 1, transport: 'websocket', address: 'ws://a', sent: 'ff00' },
    ]);
    const [message, bytes, binary] = traces.of(ROOF)?.exchanges ?? [];
    assert.deepEqual([message?.address, message?.format], ['a/[removed]', 'TEXT']);
    assert.equal(message?.received, '{"k":"[removed]","n":7}');
    assert.deepEqual([bytes?.sent, bytes?.error], [hex(`x${'*'.repeat(secret.length)}y`), 'no [removed]']);
    assert.deepEqual([binary?.format, binary?.sent], ['HEX', 'ff00']);
  });
});

describe('the image of a trace', () => {
  const exchange = (of: Partial<TracedExchange>): TracedExchange => ({
    number: 1,
    atMs: 1,
    transport: 'modbus_tcp',
    address: 'tcp://a:502',
    format: 'HEX',
    unit_id: 1,
    ...of,
  });

  test('the image of a trace has the newest words of each register, by unit and table, neighbours together', () => {
    const yaml = traceImage('Roof', [
      exchange({ sent: '000100000006010300640002', received: '00010000000701030400010002' }),
      exchange({ sent: '000200000006010300640001', received: '0002000000050103020009' }),
      exchange({ sent: '000300000006010300660001', received: '000300000005010302ffff' }),
      exchange({ unit_id: 7, sent: '000400000006070100000003', received: '00040000000407010105' }),
    ]);
    assert.equal(
      yaml,
      [
        '- name: "field trace of Roof"',
        '  units:',
        '    1:',
        '      holding:',
        "        100: '0009 0002 FFFF'",
        '    7:',
        '      coil:',
        "        0: '0001 0000 0001'",
        '',
      ].join('\n'),
    );
  });

  test('the image of a trace takes a serial answer behind the echo of its request, and leaves out what is no answer', () => {
    const request = '01040000000131ca';
    const yaml = traceImage('Roof', [
      exchange({ transport: 'modbus_rtu', sent: request, received: `${request}0104020102b8c1` }),
      exchange({ transport: 'modbus_rtu', sent: '010400050001aaaa', received: '018402c2c1' }),
      exchange({ transport: 'modbus_rtu', sent: '010400060002aaaa', received: '01040201' }),
      exchange({ transport: 'modbus_rtu', sent: '010400070001aaaa', error: 'timeout' }),
      exchange({ transport: 'modbus_rtu', sent: '0106000800010000', received: '0106000800010000' }),
    ]);
    assert.equal(
      yaml,
      '- name: "field trace of Roof"\n  units:\n    1:\n      input:\n        0: \'0102\'\n',
    );
  });

  test('the image of a trace has the answers of paths and topics, and is none where nothing can be played back', () => {
    const yaml = traceImage('Roof', [
      exchange({
        transport: 'http',
        format: 'TEXT',
        sent: 'GET http://a/b?c=1\n\n',
        received: '200\n\n{\n "x": 1\n}',
      }),
      exchange({ transport: 'http', format: 'TEXT', sent: 'GET http://a/gone\n\n', received: '404\n\nno' }),
      exchange({ transport: 'mqtt', format: 'TEXT', address: 't/1', received: 'on' }),
    ]);
    assert.equal(
      yaml,
      '- name: "field trace of Roof"\n  answers:\n    "/b?c=1": {"x":1}\n' +
        '- name: "field trace of Roof"\n  messages:\n    "t/1": "on"\n',
    );
    assert.equal(traceImage('Roof', [exchange({ sent: '00', error: 'timeout' })]), undefined);
  });
});
