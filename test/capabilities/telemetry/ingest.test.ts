import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { decodeMessage } from '../../../src/protocol/device-message.ts';
import { TestClock } from '../../support/test-clock.ts';
import { acknowledged, attribute, manifestOf, startTelemetry, withoutPrototype } from './support.ts';

const MANIFEST = manifestOf({
  voltage: attribute('float', { aliases: ['u'] }),
  cycles: attribute('integer'),
  on: attribute('boolean'),
  mode: attribute('string', { enum: ['auto', 'manual'] }),
  tags: attribute('array_of_strings'),
  detail: attribute('json'),
  conn_alerts: attribute('alerts'),
  secret: attribute('float', { access_level: 'installer' }),
});

const MINUTE = { granularity: '1s', aggregation: 'last' };
const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;

function rows(csv: string): string[] {
  return csv.trimEnd().split('\n').slice(1);
}

describe('taking telemetry in', () => {
  test('an undeclared attribute is dropped with one log entry an hour, and the others are kept', async (t) => {
    const { devices, send, telemetry, rejected, clock } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, { voltage: 48.1, unknown: 1 });
    await send(device, { voltage: 48.2, unknown: 2 });
    assert.equal(telemetry.latest(device, 'voltage')?.value, 48.2);
    assert.equal(telemetry.latest(device, 'unknown'), undefined);
    assert.deepEqual(
      rejected.map(({ attribute: name, reason }) => [name, reason]),
      [['unknown', 'undeclared']],
    );
    await clock.advance(3_600_000);
    await send(device, { unknown: 3 });
    assert.equal(rejected.length, 2);
  });

  test('ever new attributes are dropped, and a bounded number of them is logged', async (t) => {
    const { devices, send, rejected } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    for (const prefix of ['a', 'b', 'c']) {
      const names = Array.from({ length: 99 }, (_, index) => [`${prefix}${index}`, 1]);
      await send(device, Object.fromEntries(names) as Record<string, unknown>);
    }
    assert.equal(rejected.length, LIMITS.devices.reportsPerDevice);
    assert.match(rejected.at(-1)?.message ?? '', /Further faults are not listed for a while\.$/);
  });

  const wrong: [string, unknown, string][] = [
    ['voltage', '48', 'wrong_type'],
    ['voltage', true, 'wrong_type'],
    ['voltage', Number.NaN, 'wrong_type'],
    ['voltage', Number.POSITIVE_INFINITY, 'wrong_type'],
    ['cycles', 1.5, 'wrong_type'],
    ['cycles', 2n ** 63n, 'too_large'],
    ['cycles', -(2n ** 63n) - 1n, 'too_large'],
    ['cycles', 2 ** 63, 'too_large'],
    ['cycles', 1e300, 'too_large'],
    ['cycles', Number.POSITIVE_INFINITY, 'wrong_type'],
    ['on', 1, 'wrong_type'],
    ['on', 'true', 'wrong_type'],
    ['mode', 5, 'wrong_type'],
    ['mode', 'boost', 'not_in_enum'],
    ['tags', 'a', 'wrong_type'],
    ['tags', ['a', 1], 'wrong_type'],
    ['tags', Array.from({ length: 257 }, () => 'x'), 'too_large'],
    ['detail', { text: 'x'.repeat(16_384) }, 'too_large'],
    ['alerts', 5, 'wrong_type'],
    ['conn_alerts', [5], 'wrong_type'],
  ];
  for (const [name, value, reason] of wrong)
    test(`telemetry drops ${name} = ${shown(value)} as ${reason}`, async (t) => {
      const { devices, send, telemetry, rejected } = await startTelemetry(t);
      const device = devices.add('battery', MANIFEST);
      await send(device, { [name]: value });
      assert.equal(telemetry.latest(device, name), undefined);
      assert.deepEqual(
        rejected.map((event) => [event.attribute, event.reason]),
        [[name, reason]],
      );
      assert.match(rejected[0]?.message ?? '', /^The .*\.$/);
    });

  test('telemetry stores every type, and null as nothing', async (t) => {
    const { devices, send, query, rejected } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, {
      voltage: 48,
      cycles: 9_007_199_254_740_993n,
      on: false,
      mode: 'auto',
      tags: ['a', 'b "c"'],
      detail: { deep: [1, null] },
      alerts: ['low'],
      conn_alerts: null,
    });
    const csv = await query({
      ...MINUTE,
      from: NOW_S,
      to: NOW_S + 60,
      telemetry: ['voltage', 'cycles', 'on', 'mode', 'tags', 'detail', 'alerts', 'conn_alerts'].map(
        (name) => ({
          device: device.id,
          attribute: name,
        }),
      ),
    });
    assert.deepEqual(rows(csv), [
      `${NOW_S},48,9007199254740993,false,auto,"[""a"",""b \\""c\\""""]","{""deep"":[1,null]}","[""low""]",`,
    ]);
    assert.deepEqual(rejected, []);
  });

  const whole: [text: string, value: number | bigint][] = [
    ['1.0', 1],
    ['1e3', 1_000],
    ['-0', 0],
    ['-0.0', 0],
    ['1e18', 10n ** 18n],
    ['1.152921504606847e18', 2n ** 60n],
    ['9007199254740993', 9_007_199_254_740_993n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['-9.223372036854775808e18', -(2n ** 63n)],
  ];
  for (const [text, value] of whole)
    test(`telemetry takes the number ${text} for an integer`, async (t) => {
      const bench = await startTelemetry(t);
      const { devices, send, rejected } = bench;
      const device = devices.add('battery', MANIFEST);
      const limits = { keyLength: 10, depth: 2, values: 10 };
      const options = { exact: true, mayBeEmpty: false };
      await send(device, decodeMessage(Buffer.from(`{"cycles":${text}}`), limits, options).body ?? {});
      assert.deepEqual(rejected, []);
      const shown = () => bench.telemetry.latest(device, 'cycles')?.value;
      assert.ok(Object.is(shown(), value));
      await bench.restart();
      assert.ok(Object.is(shown(), value));
    });

  test('telemetry drops JSON that does not fit its schema', async (t) => {
    const { devices, send, telemetry, rejected } = await startTelemetry(t);
    const schema = { type: 'object', properties: { level: { type: 'integer' } }, required: ['level'] };
    const device = devices.add('tank', manifestOf({ detail: attribute('json', { json_schema: schema }) }));
    await send(device, { detail: { level: 'high' } });
    assert.equal(telemetry.latest(device, 'detail'), undefined);
    assert.deepEqual(
      rejected.map((event) => event.reason),
      ['schema_mismatch'],
    );
    await send(device, { detail: { level: 3 } });
    assert.deepEqual(telemetry.latest(device, 'detail')?.value, { level: 3 });
  });

  test('telemetry takes an empty Lua table as the declared type', async (t) => {
    const { devices, send, telemetry, rejected } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, { tags: {}, conn_alerts: {} });
    assert.deepEqual(telemetry.latest(device, 'tags')?.value, []);
    assert.deepEqual(telemetry.latest(device, 'conn_alerts')?.value, []);
    assert.deepEqual(rejected, []);
  });

  test('telemetry under an alias is stored under the declared name', async (t) => {
    const { devices, send, telemetry, received } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, { u: 47.5 });
    assert.equal(telemetry.latest(device, 'voltage')?.value, 47.5);
    assert.deepEqual([...(received[0]?.values ?? [])], [['voltage', { value: 47.5, isLatest: true }]]);
  });

  test('telemetry takes names such as __proto__ as plain names', async (t) => {
    const { devices, telemetry, rejected, clock } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    const body = Object.create(null) as Record<string, unknown>;
    Object.defineProperty(body, '__proto__', { value: { voltage: 1 }, enumerable: true });
    body['constructor'] = 1;
    await telemetry.handle({ device, body, receivedAtMs: clock.wallMs() });
    assert.deepEqual(
      rejected.map((event) => event.attribute),
      ['__proto__', 'constructor'],
    );
    assert.equal(telemetry.latest(device, 'voltage'), undefined);
  });

  test('telemetry takes 1 000 attributes of a message and drops the rest', async (t) => {
    const { devices, send, rejected, received } = await startTelemetry(t);
    const names = Array.from({ length: 1_005 }, (_, index) => `a${index}`);
    const device = devices.add(
      'wide',
      manifestOf(Object.fromEntries(names.map((name) => [name, attribute('integer')]))),
    );
    await send(device, Object.fromEntries(names.map((name, index) => [name, index])));
    assert.equal(received[0]?.values.size, 1_000);
    assert.deepEqual(
      rejected.map((event) => event.reason),
      ['too_many'],
    );
  });

  test('no warning is logged for a device that declares only what all devices have', async (t) => {
    const { devices, send, rejected } = await startTelemetry(t);
    const everywhere = { alerts: attribute('alerts'), alert_details: attribute('object') };
    await send(devices.add('blank', manifestOf({})), { anything: 5 });
    await send(devices.add('compiled', manifestOf(everywhere)), { anything: 5 });
    assert.deepEqual(rejected, []);
  });

  test('no warning is logged for unknown names when the manifest says so', async (t) => {
    const { devices, send, rejected } = await startTelemetry(t);
    const manifest = manifestOf(
      { voltage: attribute('float') },
      { '.platform': { silently_drop_unknown_telemetry: true } },
    );
    await send(devices.add('quiet', manifest), { voltage: 1, other: 2 });
    assert.deepEqual(rejected, []);
  });
});

describe('time of measurement', () => {
  const cases: [string, unknown, number | undefined, string?][] = [
    ['the given second', NOW_S - 5, NOW_S - 5],
    ['the second of a fraction', NOW_S - 4.25, NOW_S - 5],
    ['milliseconds', (NOW_S - 5) * 1_000 + 250, NOW_S - 5],
    ['receipt when absent', undefined, NOW_S],
    ['receipt when null', null, NOW_S],
    ['receipt when it is text', '2026-03-01T08:00:00Z', NOW_S, 'not_a_number'],
    ['receipt when it is a number in quotes', String(NOW_S - 5), NOW_S, 'not_a_number'],
    ['receipt when it is nanoseconds of all digits', BigInt(NOW_S - 5) * 1_000_000_000n, NOW_S, 'future'],
    ['receipt before 2020', 1_500_000_000, NOW_S],
    ['up to 60 s ahead', NOW_S + 60, NOW_S + 60],
    ['receipt when further ahead', NOW_S + 61, NOW_S, 'future'],
    ['7 days ago', NOW_S - 7 * 86_400, NOW_S - 7 * 86_400],
    ['nothing when older', NOW_S - 7 * 86_400 - 1, undefined, 'late'],
  ];
  for (const [title, timestamp, expected, reason] of cases)
    test(`time of measurement is ${title}`, async (t) => {
      const { devices, telemetry, rejected, clock } = await startTelemetry(t);
      const device = devices.add('battery', MANIFEST);
      const body = Object.assign(Object.create(null) as Record<string, unknown>, { timestamp, voltage: 1 });
      void telemetry.handle({ device, body, receivedAtMs: clock.wallMs() });
      assert.equal(telemetry.latest(device, 'voltage')?.timestampS, expected);
      assert.deepEqual(
        rejected.map((event) => event.reason),
        reason ? [reason] : [],
      );
    });

  test('the time of measurement waits for a clock that was never set, and is then the time of receipt', async (t) => {
    const clock = new TestClock(0);
    const { devices, telemetry, received } = await startTelemetry(t, { clock });
    const device = devices.add('battery', MANIFEST);
    const body = Object.assign(Object.create(null) as Record<string, unknown>, { voltage: 1 });
    const stored = telemetry.handle({ device, body, receivedAtMs: clock.wallMs() });
    await clock.advance(10_000);
    // What is now is seen at once, and everybody is told once.
    assert.equal(telemetry.latest(device, 'voltage')?.value, 1);
    assert.equal(telemetry.latest(device, 'voltage')?.ageMs, 10_000);
    assert.equal(received.length, 1);
    clock.step(NOW_S * 1_000);
    assert.equal(telemetry.latest(device, 'voltage')?.timestampS, NOW_S);
    assert.equal(telemetry.latest(device, 'voltage')?.ageMs, 10_000);
    await acknowledged(clock, stored);
    assert.equal(received.length, 1);
  });

  test('the later message has the latest value, whether or not there is room to wait', async (t) => {
    const clock = new TestClock(0);
    const { devices, telemetry } = await startTelemetry(t, { clock, limits: { messagesBeforeClock: 1 } });
    const device = devices.add('battery', MANIFEST);
    const give = (voltage: number): Promise<void> | void =>
      telemetry.handle({ device, body: withoutPrototype({ voltage }), receivedAtMs: clock.wallMs() });
    const stored = give(1);
    await clock.advance(1_000);
    await assert.rejects(Promise.resolve(give(2)), { code: 'unavailable' });
    assert.equal(telemetry.latest(device, 'voltage')?.value, 2);
    assert.equal(telemetry.latest(device, 'voltage')?.ageMs, 0);
    clock.step(NOW_S * 1_000);
    await acknowledged(clock, stored);
    assert.equal(telemetry.latest(device, 'voltage')?.value, 2);
  });

  test('a bounded number of messages waits for the time of measurement', async (t) => {
    const clock = new TestClock(0);
    const { devices, telemetry } = await startTelemetry(t, { clock, limits: { messagesBeforeClock: 2 } });
    const device = devices.add('battery', MANIFEST);
    const give = (): Promise<void> | void =>
      telemetry.handle({ device, body: withoutPrototype({ voltage: 1 }), receivedAtMs: 0 });
    void give();
    void give();
    await assert.rejects(Promise.resolve(give()), { code: 'unavailable' });
  });

  test('the device gives the time of measurement while the gateway has no clock', async (t) => {
    const { devices, send, telemetry } = await startTelemetry(t, { clock: new TestClock(0) });
    const device = devices.add('battery', MANIFEST);
    await send(device, { voltage: 1, timestamp: NOW_S });
    assert.equal(telemetry.latest(device, 'voltage')?.timestampS, NOW_S);
  });
});

describe('samples', () => {
  test('the later message of two with the same time counts, in memory, in history and after a restart', async (t) => {
    const { devices, send, telemetry, query, restart } = await startTelemetry(t);
    const device = devices.add('battery', MANIFEST);
    await send(device, { voltage: 1, timestamp: NOW_S });
    await send(device, { voltage: 2, timestamp: NOW_S });
    assert.equal(telemetry.latest(device, 'voltage')?.value, 2);
    const asked = {
      ...MINUTE,
      from: NOW_S,
      to: NOW_S + 1,
      telemetry: [{ device: 'battery', attribute: 'voltage' }],
    };
    assert.deepEqual(rows(await query(asked)), [`${NOW_S},2`]);
    await restart();
    assert.deepEqual(rows(await query(asked)), [`${NOW_S},2`]);
  });

  test('late samples go into history and do not replace the latest value', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send, query, received } = started;
    const device = devices.add('battery', MANIFEST);
    await send(device, { voltage: 2, timestamp: NOW_S });
    await send(device, { voltage: 1, timestamp: NOW_S - 100 });
    const latest = { value: 2, timestampS: NOW_S, ageMs: started.clock.wallMs() - NOW_S * 1_000 };
    assert.deepEqual(started.telemetry.latest(device, 'voltage'), latest);
    assert.deepEqual(
      received.map((event) => event.values.get('voltage')?.isLatest),
      [true, false],
    );
    await started.restart();
    assert.deepEqual(started.telemetry.latest(device, 'voltage'), latest);
    const asked = { ...MINUTE, from: NOW_S - 200, to: NOW_S + 1, telemetry: [{ attribute: 'voltage' }] };
    assert.deepEqual(rows(await query(asked)), [`${NOW_S - 100},1`, `${NOW_S},2`]);
  });

  test('samples survive a restart, whatever their type', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send } = started;
    const device = devices.add('battery', MANIFEST);
    const values = {
      voltage: 0.1,
      cycles: -(2n ** 63n),
      on: true,
      mode: 'manual',
      tags: [],
      detail: { a: 2n ** 60n },
      alerts: ['x'],
    };
    await send(device, values);
    await started.restart();
    for (const [name, value] of Object.entries(values))
      assert.deepEqual(plain(started.telemetry.latest(device, name)?.value), plain(value), name);
  });

  test('samples are gone with their device, also after a restart', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send, query, clock } = started;
    const gone = devices.add('gone', MANIFEST);
    const stays = devices.add('stays', MANIFEST);
    await send(gone, { voltage: 1 });
    await send(stays, { voltage: 2 });
    devices.remove(gone);
    await clock.advance(2_000);
    const asked = { ...MINUTE, from: NOW_S - 200, to: NOW_S + 100, telemetry: [{ attribute: 'voltage' }] };
    assert.equal(rows(await query(asked)).length, 1);
    await started.restart();
    assert.equal(rows(await query(asked)).length, 1);
  });

  test('samples begin a new series when the type of the attribute changes, and the old one comes back with it', async (t) => {
    const started = await startTelemetry(t);
    const { devices, send, query } = started;
    const device = devices.add('battery', MANIFEST);
    const asked = { ...MINUTE, from: NOW_S - 200, to: NOW_S + 100, telemetry: [{ attribute: 'voltage' }] };
    await send(device, { voltage: 1.5, timestamp: NOW_S - 10 });
    devices.assign(device, manifestOf({ voltage: attribute('string') }));
    assert.equal(started.telemetry.latest(device, 'voltage'), undefined);
    await send(device, { voltage: 'high', timestamp: NOW_S - 5 });
    assert.deepEqual(rows(await query(asked)), [`${NOW_S - 5},high`]);
    devices.assign(device, MANIFEST);
    assert.deepEqual(rows(await query(asked)), [`${NOW_S - 10},1.5`]);
    assert.equal(started.telemetry.latest(device, 'voltage')?.value, 1.5);
  });
});

function shown(value: unknown): string {
  if (typeof value === 'number') return value.toString();
  return JSON.stringify(plain(value)).slice(0, 40);
}

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_key, item: unknown) => (typeof item === 'bigint' ? `${item}` : item)),
  );
}
