/** What was measured while a clock was ahead is no value of now, and nothing that comes after it is late for it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LabelledSamples, MqttSettings } from '../../../src/capabilities/targets/model.ts';
import { stateMessages } from '../../../src/capabilities/targets/mqtt/home-assistant.ts';
import {
  dataMetrics,
  noteLatest,
  type PublishedDevice,
} from '../../../src/capabilities/targets/mqtt/sparkplug-metrics.ts';

const DAY_S = 86_400;
const NOW_S = 1_800_000_000;
const SETTINGS = { kind: 'MQTT', form: 'HOME_ASSISTANT', topic: 'house' } as MqttSettings;

const powerAt = (...timesS: number[]): LabelledSamples => ({
  deviceId: 'id',
  attribute: 'power',
  type: 'float',
  times: Uint32Array.from(timesS),
  numbers: Float64Array.from(timesS, (timeS) => timeS - NOW_S),
  integers: undefined,
  texts: [],
  labels: { site: 'Depot', device: 'meter', blueprint: 'Meter', profile: undefined },
});

test('a state of Home Assistant follows the values of now when a clock that was a day ahead is put back', () => {
  const before = new Map();
  const told = (samples: LabelledSamples, nowS: number): string[] =>
    [...stateMessages(SETTINGS, [samples], before, nowS + 60)].map(({ payload }) => String(payload));
  assert.deepEqual(told(powerAt(NOW_S + DAY_S), NOW_S + DAY_S), [String(DAY_S)]);
  // The clock is right again; what was stored before it was comes late.
  assert.deepEqual(told(powerAt(NOW_S, NOW_S + DAY_S + 1), NOW_S), ['0']);
  assert.deepEqual(told(powerAt(NOW_S + DAY_S + 2), NOW_S + 1), []);
  assert.deepEqual(told(powerAt(NOW_S + 2), NOW_S + 2), ['2']);
  assert.deepEqual(told(powerAt(NOW_S + 1), NOW_S + 3), []);
});

test('a metric of Sparkplug follows the values of now when a clock that was a day ahead is put back', () => {
  const device: PublishedDevice = { slug: 'meter', born: undefined, isChanged: false, metrics: new Map() };
  const current = (nowS: number) => ({ fromMs: (nowS - 300) * 1_000, toMs: (nowS + 60) * 1_000 });
  const told = (samples: LabelledSamples, nowS: number): [unknown, boolean][] =>
    dataMetrics(device, [samples], current(nowS)).metrics.map(({ value, isHistorical = false }) => [
      value,
      isHistorical,
    ]);
  assert.deepEqual(told(powerAt(NOW_S + DAY_S), NOW_S + DAY_S), [[DAY_S, false]]);
  assert.deepEqual(told(powerAt(NOW_S, NOW_S + DAY_S + 1), NOW_S), [
    [0, false],
    [DAY_S + 1, true],
  ]);
  assert.equal(device.metrics.get('power')?.value, 0);
  assert.deepEqual(told(powerAt(NOW_S - 1), NOW_S + 1), [[-1, true]]);
  // A birth tells what is true now, too.
  device.metrics.set('power', { datatype: 10, timestampMs: (NOW_S + DAY_S) * 1_000, value: 5 });
  const declared = ['power', { type: 'float' }] as unknown as Parameters<typeof noteLatest>[1];
  const latest = { timestampS: NOW_S + 2, value: 2 } as Parameters<typeof noteLatest>[2];
  noteLatest(device, declared, latest, current(NOW_S + 2).toMs);
  assert.equal(device.metrics.get('power')?.value, 2);
});
