/** The stored samples of one attribute in order of time, for whoever goes through a period. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SampleStretch } from '../../src/capabilities/telemetry/index.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { attribute, manifestOf, startTelemetry } from '../capabilities/telemetry/support.ts';

const METER = manifestOf({
  power: attribute('float'),
  count: attribute('integer'),
  note: attribute('string'),
  tags: attribute('array_of_strings'),
  closed: attribute('boolean'),
  other: attribute('float'),
});

const pairs = ({ samples }: SampleStretch): unknown[] =>
  samples.map(({ timestampS, value }) => [timestampS, value]);

test('an attribute without a sample, and a period without one, are empty', async (t) => {
  const { telemetry, devices, clock, send } = await startTelemetry(t);
  const meter = devices.add('meter', METER);
  const nowS = Math.floor(clock.wallMs() / 1_000);
  const nothing = { before: undefined, samples: [], isComplete: true };
  assert.deepEqual(await telemetry.samples(meter, 'other', nowS - 100, nowS), nothing);
  await send(meter, { timestamp: nowS, power: 1 });
  assert.deepEqual(await telemetry.samples(meter, 'power', nowS - 100, nowS), nothing);
});

test('samples come in order of time with the last one before, whatever the order of arrival', async (t) => {
  const { telemetry, devices, clock, send } = await startTelemetry(t);
  const meter = devices.add('meter', METER);
  const nowS = Math.floor(clock.wallMs() / 1_000);
  for (const ageS of [200_000, 30, 90_000, 10, 20, 0])
    await send(meter, { timestamp: nowS - ageS, power: ageS });
  const stretch = await telemetry.samples(meter, 'power', nowS - 100_000, nowS);
  assert.deepEqual(stretch.before, { timestampS: nowS - 200_000, value: 200_000 });
  assert.deepEqual(
    pairs(stretch),
    [90_000, 30, 20, 10].map((ageS) => [nowS - ageS, ageS]),
  );
  assert.equal(stretch.isComplete, true);
  await telemetry.seal();
  assert.deepEqual(await telemetry.samples(meter, 'power', nowS - 100_000, nowS), stretch);
});

test('values of every type come back exactly', async (t) => {
  const { telemetry, devices, clock, send } = await startTelemetry(t);
  const meter = devices.add('meter', METER);
  const nowS = Math.floor(clock.wallMs() / 1_000);
  const values = {
    count: 9_007_199_254_740_993n,
    note: 'two\nlines, "quoted"',
    tags: ['a', 'b'],
    closed: true,
  };
  await send(meter, { timestamp: nowS, ...values });
  for (const [name, value] of Object.entries(values))
    assert.deepEqual(pairs(await telemetry.samples(meter, name, nowS, nowS + 1)), [[nowS, value]]);
});

test('a long period comes in pieces that follow each other without a gap', async (t) => {
  const { telemetry, devices, clock, send } = await startTelemetry(t, { limits: { readSamples: 3 } });
  const meter = devices.add('meter', METER);
  const nowS = Math.floor(clock.wallMs() / 1_000);
  for (let ageS = 6; ageS > 0; ageS--) await send(meter, { timestamp: nowS - ageS, power: ageS });
  const first = await telemetry.samples(meter, 'power', nowS - 100, nowS);
  assert.equal(first.isComplete, false);
  assert.equal(first.samples.length, 3);
  const second = await telemetry.samples(meter, 'power', (first.samples[2]?.timestampS ?? 0) + 1, nowS);
  assert.deepEqual(second.before, first.samples[2]);
  assert.equal(second.isComplete, true);
  assert.deepEqual(
    [first, second].flatMap(({ samples }) => samples.map(({ value }) => value)),
    [6, 5, 4, 3, 2, 1],
  );
});

test('long texts fill a piece before its number of samples is reached', async (t) => {
  const { telemetry, devices, clock, send } = await startTelemetry(t, { limits: { readBytes: 5_000 } });
  const meter = devices.add('meter', METER);
  const nowS = Math.floor(clock.wallMs() / 1_000);
  for (let ageS = 3; ageS > 0; ageS--)
    await send(meter, { timestamp: nowS - ageS, note: 'x'.repeat(LIMITS.telemetry.stringBytes - ageS) });
  const { samples, isComplete } = await telemetry.samples(meter, 'note', nowS - 100, nowS);
  assert.deepEqual([samples.length, isComplete], [2, false]);
});

test('a window of an aggregate may end in the past', async (t) => {
  const { telemetry, devices, clock, send } = await startTelemetry(t);
  const meter = devices.add('meter', METER);
  const nowMs = clock.wallMs();
  for (const ageS of [50, 40, 0])
    await send(meter, { timestamp: Math.floor(nowMs / 1_000) - ageS, power: ageS });
  assert.equal(await telemetry.aggregate(meter, 'power', 'avg', 20_000, nowMs - 35_000), 45);
});
