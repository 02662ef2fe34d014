import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { AdaptiveTimeout } from '../../../src/field-module/field/adaptive-timeout.ts';
import { ModbusRtu } from '../../../src/field-module/field/modbus-rtu.ts';
import { encodeRtuFrame } from '../../../src/field-module/field/modbus-rtu-frame.ts';
import { SerialPort } from '../../../src/field-module/field/serial-port.ts';
import { TestClock } from '../../support/test-clock.ts';
import { fakeSerialDevice, played, SETTINGS } from './serial-device.ts';

const FIELD = LIMITS.field;
const FULL_MS = 1_000;

/** Units 1 and 2 have answered often, after 20 ms and after 60 ms. */
function acquainted() {
  const timeouts = new AdaptiveTimeout(FIELD);
  for (let count = 0; count < 50; count += 1) {
    timeouts.answered(1, 20, count * 100);
    timeouts.answered(2, 60, count * 100);
  }
  return { timeouts, nowMs: 5_000 };
}

describe('on a serial line that others use', () => {
  test('a unit that nobody knows has the whole limit, then short tries, then the whole limit again', () => {
    const { timeouts, nowMs } = acquainted();
    const given: (number | undefined)[] = [];
    for (let count = 0; count < 5; count += 1) {
      const atMs = nowMs + count * 20_000;
      timeouts.answered(1, 20, atMs - 1_000);
      given.push(timeouts.grant(9, true, FULL_MS, atMs));
      timeouts.silent(9, 200, atMs);
    }
    const short = FIELD.serialAnswerMinMs * 2;
    assert.deepEqual(given, [FULL_MS, short, short, short, FULL_MS]);
  });

  test('a unit is waited for some times as long as it ever took, never longer than its script wants', () => {
    const { timeouts, nowMs } = acquainted();
    assert.equal(timeouts.grant(1, true, FULL_MS, nowMs), FIELD.serialAnswerMinMs);
    assert.equal(timeouts.grant(2, true, FULL_MS, nowMs), 180);
    assert.equal(timeouts.grant(2, true, 50, nowMs), 50);
  });

  test('a write has its whole limit', () => {
    const { timeouts, nowMs } = acquainted();
    assert.equal(timeouts.grant(1, false, FULL_MS, nowMs), FULL_MS);
  });

  test('a single lost answer costs the rest of its poll, not the next one', () => {
    const { timeouts, nowMs } = acquainted();
    assert.notEqual(timeouts.grant(2, true, FULL_MS, nowMs), undefined);
    timeouts.silent(2, 180, nowMs + 180);
    assert.equal(timeouts.grant(2, true, FULL_MS, nowMs + 190), undefined);
    assert.notEqual(timeouts.grant(2, true, FULL_MS, nowMs + 1_000), undefined);
    // A second one is a silence, and so is one beside a silent unit.
    timeouts.silent(2, 180, nowMs + 1_180);
    assert.equal(timeouts.grant(2, true, FULL_MS, nowMs + 2_000), undefined);
    timeouts.silent(1, 100, nowMs + 2_100);
    assert.equal(timeouts.grant(1, true, FULL_MS, nowMs + 2_700), undefined);
  });

  test('silent units together get their share of the time, and no more', () => {
    const { timeouts, nowMs } = acquainted();
    let lostMs = 0;
    for (let atMs = nowMs; atMs < nowMs + 60_000; atMs += 100) {
      timeouts.answered(1, 20, atMs);
      for (const unitId of [11, 12, 13, 14]) {
        const waitMs = timeouts.grant(unitId, true, FULL_MS, atMs);
        if (waitMs === undefined) continue;
        lostMs += waitMs;
        timeouts.silent(unitId, waitMs, atMs + waitMs);
      }
    }
    const firstTriesMs = 4 * FULL_MS;
    assert.ok(lostMs > 3_000, `${lostMs} ms`);
    assert.ok(lostMs <= firstTriesMs + (60_000 * FIELD.serialSilencePercent) / 100, `${lostMs} ms`);
  });

  test('every silent unit has its turn, the one that waits longest first', () => {
    const { timeouts, nowMs } = acquainted();
    const asked = new Map<number, number>();
    for (let atMs = nowMs; atMs < nowMs + 120_000; atMs += 500) {
      timeouts.answered(1, 20, atMs);
      for (const unitId of [11, 12, 13, 14]) {
        const waitMs = timeouts.grant(unitId, true, FULL_MS, atMs);
        if (waitMs === undefined) continue;
        asked.set(unitId, (asked.get(unitId) ?? 0) + 1);
        timeouts.silent(unitId, waitMs, atMs);
      }
    }
    const counts = [...asked.values()];
    assert.equal(counts.length, 4);
    assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, String(counts));
  });

  test('the first one that is back gives hope for the others', () => {
    const { timeouts, nowMs } = acquainted();
    for (const unitId of [11, 12])
      for (let count = 0; count < FIELD.silentRequests; count += 1) timeouts.silent(unitId, 500, nowMs);
    assert.equal(timeouts.grant(12, true, FULL_MS, nowMs + 1), undefined);
    timeouts.answered(11, 30, nowMs + 2);
    assert.notEqual(timeouts.grant(12, true, FULL_MS, nowMs + 3), undefined);
  });
});

test('a unit that is alone on its line has the whole limit of its script, whatever it is used to', () => {
  const timeouts = new AdaptiveTimeout(FIELD);
  for (let count = 0; count < 50; count += 1) timeouts.answered(1, 20, count * 100);
  assert.equal(timeouts.grant(1, true, FULL_MS, 5_000), FULL_MS);
});

test('with half of the units silent the others keep their pace, and the silent ones are back within 30 s', async () => {
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
