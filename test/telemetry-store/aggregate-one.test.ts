import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attribute, manifestOf, startTelemetry } from '../capabilities/telemetry/support.ts';

const METER = manifestOf({ power: attribute('float'), other: attribute('float') });

test('an aggregate over a window has every stored sample of it, and none of before', async (t) => {
  const telemetry = await startTelemetry(t);
  const meter = telemetry.devices.add('meter', METER);
  const nowS = Math.floor(telemetry.clock.wallMs() / 1_000);
  for (const [ageS, power] of [
    [100_000, 1_000],
    [80, 1_000],
    [40, 1],
    [30, 2],
    [0, 6],
  ] as const)
    await telemetry.send(meter, { timestamp: nowS - ageS, power });
  const over = (kind: 'avg' | 'min' | 'max', windowMs: number): Promise<number | undefined> =>
    telemetry.telemetry.aggregate(meter, 'power', kind, windowMs);
  assert.equal(await over('avg', 60_000), 3);
  assert.equal(await over('min', 60_000), 1);
  assert.equal(await over('max', 60_000), 6);
  assert.equal(await over('max', 86_400_000), 1_000);
  assert.equal(await over('avg', 5_000), 6);
  assert.equal(await telemetry.telemetry.aggregate(meter, 'other', 'avg', 60_000), undefined);
});

test('an aggregate of a window without a sample is none', async (t) => {
  const telemetry = await startTelemetry(t);
  const meter = telemetry.devices.add('meter', METER);
  await telemetry.send(meter, { power: 1 });
  await telemetry.clock.advance(120_000);
  assert.equal(await telemetry.telemetry.aggregate(meter, 'power', 'avg', 60_000), undefined);
});
