import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { safeParse } from 'valibot';
import { telemetryRoutes } from '../../../src/capabilities/telemetry/index.ts';
import { DeviceLatestQuery, LatestQuery, latestOnWire } from '../../../src/capabilities/telemetry/schema.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import type { Call } from '../../../src/platform/http/index.ts';
import type { Role } from '../../../src/lib/role.ts';
import { attribute, manifestOf, startTelemetry } from './support.ts';

const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;
const MANIFEST = manifestOf({
  voltage: attribute('float'),
  count: attribute('integer'),
  tags: attribute('array_of_strings'),
  secret: attribute('float', { access_level: 'installer' }),
});

async function started(t: TestContext) {
  const telemetry = await startTelemetry(t);
  const device = telemetry.devices.add('meter', MANIFEST);
  const ofDevice = (attributes?: string[], relevanceMs = 30_000, role: Role = 'READONLY'): string =>
    JSON.stringify(latestOnWire(telemetry.telemetry.latestOfDevice(device, attributes, relevanceMs, role)));
  return { ...telemetry, device, ofDevice };
}

describe('a query of latest values', () => {
  test('a query of latest values is refused with too many attributes of all devices', () => {
    const names = range(LIMITS.telemetry.latestAttributes + 1).join(',');
    assert.equal(safeParse(LatestQuery, { 'devices[x]': [names] }).success, false);
  });

  test('a query of latest values is refused with too many attributes of one device', () => {
    const names = range(LIMITS.telemetry.latestAttributes + 1).join(',');
    assert.equal(safeParse(DeviceLatestQuery, { 'attribute.in': [names] }).success, false);
  });

  test('a query of latest values takes names in brackets, commas and repetitions', () => {
    const { output } = safeParse(LatestQuery, {
      'devices[a-1]': ['x, y', 'y,z'],
      'devices[b]': [''],
      other: ['1'],
    });
    assert.deepEqual(output, {
      devices: new Map([
        ['a-1', ['x', 'y', 'z']],
        ['b', []],
      ]),
      relevance_interval: 30_000,
    });
  });
});

describe('the latest values', () => {
  test('the latest values tell how often a device measures, from the second measurement on', async (t) => {
    const { devices, send, device } = await started(t);
    const pause = () => devices.usualPauseS(device);
    await send(device, { timestamp: NOW_S - 5_000, voltage: 48 });
    assert.equal(pause(), undefined);
    await send(device, { timestamp: NOW_S - 4_100, voltage: 48 });
    assert.equal(pause(), 900);
    // One gap is no other rhythm.
    await send(device, { timestamp: NOW_S - 60, voltage: 48 });
    assert.equal(pause(), 900);
    await send(device, { timestamp: NOW_S - 55, voltage: 48 });
    assert.equal(pause(), 5);
  });

  test('the latest values contain none that only the previous blueprint declared', async (t) => {
    const { devices, send, telemetry } = await startTelemetry(t);
    const json = (type: string) => attribute('json', { json_schema: { type } });
    const before = manifestOf({
      mode: attribute('string', { enum: ['auto', 'off'] }),
      step: attribute('integer'),
      count: attribute('integer'),
      plan: json('object'),
    });
    const after = manifestOf({
      mode: attribute('string', { enum: ['auto', 'on'] }),
      step: attribute('integer', { enum: [1, 2] }),
      count: attribute('float'),
      plan: json('array'),
    });
    const device = devices.add('heater', before);
    const now = () => {
      const answers = telemetry.latestOfDevice(device, ['mode', 'step', 'count', 'plan'], 30_000, 'READONLY');
      return [...answers.values()].map((answer) => {
        if ('warning' in answer) assert.equal(answer.warning, 'No value within the relevance interval.');
        return 'value' in answer ? answer.value : undefined;
      });
    };
    await send(device, { mode: 'off', step: 3, count: 7, plan: { a: 1 } });
    assert.deepEqual(now(), ['off', 3, 7, { a: 1 }]);
    devices.assign(device, after);
    assert.deepEqual(now(), [undefined, undefined, undefined, undefined]);
    for (const name of ['mode', 'step', 'count', 'plan'])
      assert.equal(telemetry.latest(device, name), undefined, name);
    await send(device, { mode: 'on', step: 2 });
    assert.deepEqual(now(), ['on', 2, undefined, undefined]);
    // Nothing was lost: the blueprint before finds what it left.
    devices.assign(device, before);
    assert.deepEqual(now(), [undefined, 2, 7, { a: 1 }]);
  });

  test('the latest values are warnings when too old, not declared, not for the role, or of no device', async (t) => {
    const { ofDevice, send, device, telemetry } = await started(t);
    await send(device, { timestamp: NOW_S - 31, voltage: 1, secret: 5 });
    assert.equal(ofDevice(['voltage']), '{"voltage":{"warning":"No value within the relevance interval."}}');
    assert.match(ofDevice(['voltage'], 40_000), /"value":1/);
    assert.equal(ofDevice(['nothing']), '{"nothing":{"warning":"Attribute not found."}}');
    assert.equal(ofDevice(['secret'], 40_000), '{"secret":{"warning":"Attribute not found."}}');
    assert.match(ofDevice(['secret'], 40_000, 'INSTALLER'), /"value":5/);
    const wanted = new Map([
      ['nobody', ['a', 'b']],
      ['meter', []],
    ]);
    const answers = telemetry.latestOfDevices(wanted, 30_000, 'READONLY');
    assert.deepEqual(
      [...answers].map(([name, answer]) => [name, JSON.stringify(latestOnWire(answer))]),
      [
        ['nobody', '{"a":{"warning":"Device is not found."},"b":{"warning":"Device is not found."}}'],
        ['meter', '{}'],
      ],
    );
  });

  test('the latest values write integers of 64 bits exactly', async (t) => {
    const { ofDevice, send, device } = await started(t);
    await send(device, { count: 9_223_372_036_854_775_807n });
    assert.equal(ofDevice(['count']), `{"count":{"value":9223372036854775807,"timestamp":${NOW_S}}}`);
  });
});

describe('the operations', () => {
  const call = (more: Partial<Call>): Call => {
    const given: Partial<Call> = {
      principal: {
        role: 'READONLY',
        origin: { kind: 'token', id: 't', name: 't' },
        rateKey: 't',
      },
      query: {},
      body: {},
      header: () => undefined,
      signal: new AbortController().signal,
      ...more,
    };
    return given as Call;
  };

  test('the operations refuse a time series for a caller that does not take CSV', async (t) => {
    const { telemetry, devices } = await started(t);
    const query = telemetryRoutes(telemetry, devices).find((route) => route.operation === 'query_timeseries');
    for (const accept of [undefined, '', 'application/json', 'text/csv;q=0', 'text/html, application/*'])
      assert.throws(() => query?.handle(call({ header: () => accept })), { code: 'not_acceptable' });
  });
});

function range(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `n${index}`);
}
