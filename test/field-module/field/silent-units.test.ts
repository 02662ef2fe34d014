import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { ModbusRtu } from '../../../src/field-module/field/modbus-rtu.ts';
import { encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { SilentUnits } from '../../../src/field-module/field/silent-units.ts';
import { SerialPort } from '../../../src/field-module/field/serial-port.ts';
import { TestClock } from '../../support/test-clock.ts';
import { fakeSerialDevice, played, SETTINGS } from './serial-device.ts';

const FIELD = LIMITS.field;
const FULL_MS = 1_000;
const TIMEOUT = { kind: 'timeout' } as const;

/** Units 1 and 2 have answered often, after 20 ms and after 60 ms. */
function acquainted() {
  const units = new SilentUnits(FIELD);
  for (let count = 0; count < 50; count += 1) {
    units.answered(1, 20, count * 100);
    units.answered(2, 60, count * 100);
  }
  return { units, nowMs: 5_000 };
}

describe('where other units answer', () => {
  test("a read on a serial line waits a multiple of its unit's longest answer, never longer than its limit", () => {
    const { units, nowMs } = acquainted();
    assert.equal(units.readMs(1, FULL_MS, nowMs), FIELD.serialAnswerMinMs);
    assert.equal(units.readMs(2, FULL_MS, nowMs), 180);
    assert.equal(units.readMs(2, 50, nowMs), 50);
  });

  test('an unknown unit on a serial line has its whole limit, then three short ones, then the whole one', () => {
    const { units, nowMs } = acquainted();
    const given = Array.from({ length: 5 }, () => {
      const waitMs = units.readMs(9, FULL_MS, nowMs);
      units.silent(9, 200, nowMs, TIMEOUT);
      return waitMs;
    });
    const short = FIELD.serialAnswerMinMs * 2;
    assert.deepEqual(given, [FULL_MS, short, short, short, FULL_MS]);
  });

  test('a single lost answer changes nothing, a second one makes the unit rest with its last fault', () => {
    const { units, nowMs } = acquainted();
    units.silent(2, 180, nowMs, TIMEOUT);
    assert.equal(units.refusal(2, nowMs + 10, nowMs + 10), undefined);
    const fault = { kind: 'exception', exceptionCode: 11 } as const;
    units.silent(2, 180, nowMs + 200, fault);
    assert.deepEqual(units.refusal(2, nowMs + 210, nowMs + 210), fault);
  });

  test('a silent unit is asked ever more rarely, at last every twenty seconds', () => {
    const { units, nowMs } = acquainted();
    const askedAtMs: number[] = [];
    for (let atMs = nowMs; atMs < nowMs + 200_000; atMs += 50) {
      units.answered(1, 20, atMs);
      if (units.refusal(9, atMs, atMs) !== undefined) continue;
      askedAtMs.push(atMs);
      units.silent(9, 100, atMs, TIMEOUT);
    }
    const pausesMs = askedAtMs.slice(1).map((atMs, index) => atMs - (askedAtMs[index] ?? 0));
    assert.deepEqual(pausesMs.slice(0, 2), [50, 1_900]);
    assert.deepEqual(
      pausesMs.toSorted((one, other) => one - other),
      pausesMs,
    );
    assert.equal(pausesMs.at(-1), FIELD.unitRestMsMax);
  });

  test('silent units together get their share of the time, each its turn, and no more', () => {
    const { units, nowMs } = acquainted();
    const asked = new Map<number, number>();
    for (let atMs = nowMs; atMs < nowMs + 240_000; atMs += 100) {
      units.answered(1, 20, atMs);
      for (const unitId of [11, 12, 13, 14]) {
        if (units.refusal(unitId, atMs, atMs) !== undefined) continue;
        asked.set(unitId, (asked.get(unitId) ?? 0) + 1);
        units.silent(unitId, FULL_MS, atMs + FULL_MS, TIMEOUT);
      }
    }
    const counts = [...asked.values()];
    assert.equal(counts.length, 4);
    assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, String(counts));
    const total = counts.reduce((sum, count) => sum + count, 0);
    assert.ok(total * FULL_MS <= 8 * FULL_MS + (240_000 * FIELD.silencePercent) / 100, `${total} times`);
  });

  test('the first unit that is back lets the others be asked at once', () => {
    const { units, nowMs } = acquainted();
    for (const unitId of [11, 12])
      for (let count = 0; count < FIELD.silentRequests; count += 1) units.silent(unitId, 500, nowMs, TIMEOUT);
    assert.deepEqual(units.refusal(12, nowMs + 1, nowMs + 1), TIMEOUT);
    units.answered(11, 30, nowMs + 2);
    assert.equal(units.refusal(12, nowMs + 3, nowMs + 3), undefined);
  });
});

test('a unit that is alone is always asked, with its whole limit, whatever it did before', () => {
  const units = new SilentUnits(FIELD);
  for (let count = 0; count < 50; count += 1) units.answered(1, 20, count * 100);
  assert.equal(units.readMs(1, FULL_MS, 5_000), FULL_MS);
  for (let count = 0; count < 10; count += 1) units.silent(1, 1_000, 5_000, TIMEOUT);
  assert.equal(units.refusal(1, 5_001, 5_001), undefined);
});

test('the others keep their pace with half of the units silent, and the silent ones are back within 30 s', async () => {
  const clock = new TestClock();
  const device = fakeSerialDevice();
  const port = new SerialPort({ open: device.open, settings: SETTINGS, clock, limits: FIELD });
  const client = new ModbusRtu({ port, clock, limits: FIELD });
  const silent = new Set<number>();
  const answeredAtMs = new Map<number, number[]>([1, 2, 3, 4, 5, 6].map((unitId) => [unitId, []]));
  device.onWrite = (bytes) => {
    const unitId = bytes[0] ?? 0;
    if (silent.has(unitId)) return;
    clock.setTimer(15, () => device.say(encodeRtuFrame(unitId, Buffer.of(3, 2, 0, unitId))));
  };
  const polls = [...answeredAtMs].map(([unitId, times]) =>
    clock.setRepeating(1_000, () => {
      void client.request(unitId, { kind: 'read_holdings', start: 0, count: 1 }, FULL_MS).then((answer) => {
        if (answer.ok) times.push(clock.monotonicMs());
      });
    }),
  );
  const longestGapMs = (unitId: number, fromMs: number): number => {
    const times = (answeredAtMs.get(unitId) ?? []).filter((atMs) => atMs >= fromMs);
    return Math.max(...times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0)));
  };
  const pass = (durationMs: number): Promise<void> => played(clock, clock.sleep(durationMs));

  await pass(30_000);
  for (const unitId of [4, 5, 6]) silent.add(unitId);
  await pass(5_000);
  const settledMs = clock.monotonicMs();
  await pass(60_000);
  for (const unitId of [1, 2, 3]) {
    const gapMs = longestGapMs(unitId, settledMs);
    assert.ok(gapMs <= 1_250, `unit ${unitId}: ${gapMs} ms`);
  }
  silent.clear();
  const backMs = clock.monotonicMs();
  await pass(30_000);
  for (const unitId of [4, 5, 6])
    assert.ok(
      answeredAtMs.get(unitId)?.some((atMs) => atMs > backMs),
      `unit ${unitId} is not back`,
    );
  for (const poll of polls) poll.cancel();
  port.close();
});
