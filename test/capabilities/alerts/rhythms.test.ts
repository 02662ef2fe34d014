/** A device that sends at a rhythm is missed; one that sends on change, or sleeps at night, is not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Rhythms } from '../../../src/capabilities/alerts/rhythms.ts';
import { LIMITS } from '../../../src/lib/limits.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const CHECK_MS = MINUTE_MS;
const { rhythmDays, rhythmDaysMin, silentAfterMs, silentPauses } = LIMITS.alerts;

/** A device and the checks of it, on a time of their own. */
function watched() {
  let rhythms = new Rhythms(LIMITS.alerts);
  let nowMs = 5_000;
  let heardAtMs: number | undefined;
  let toldMs: (number | undefined)[] = [];
  return {
    beginAnew: () => rhythms.beginAnew('device', nowMs),
    learned: () => rhythms.learned(),
    /** Another run, with a time of its own and what the one before handed on. */
    restart(): void {
      const kept = rhythms.learned();
      rhythms = new Rhythms(LIMITS.alerts);
      nowMs = 0;
      heardAtMs = undefined;
      for (const [deviceId, days] of kept) rhythms.resume(deviceId, days, nowMs);
    },
    /** Goes on for a time; `sends` says whether something arrives in the minute, `isOnline` whether it is there. */
    live(
      durationMs: number,
      sends: (sinceMs: number) => boolean,
      isOnline: (sinceMs: number) => boolean = () => true,
    ): (number | undefined)[] {
      toldMs = [];
      for (let sinceMs = 0; sinceMs < durationMs; sinceMs += CHECK_MS) {
        if (sends(sinceMs) && isOnline(sinceMs)) heardAtMs = nowMs - 1;
        toldMs.push(rhythms.follow('device', isOnline(sinceMs), heardAtMs, nowMs));
        nowMs += CHECK_MS;
      }
      return toldMs;
    },
  };
}

const every =
  (periodMs: number) =>
  (sinceMs: number): boolean =>
    sinceMs % periodMs === 0;
const never = (): boolean => false;
const isTold = (told: readonly (number | undefined)[]): boolean => told.some((ms) => ms !== undefined);

describe('the rhythm of a device', () => {
  test('a device that sends every minute is missed after a quarter of an hour, until it sends again', () => {
    const device = watched();
    assert.equal(isTold(device.live(rhythmDaysMin * DAY_MS + HOUR_MS, every(MINUTE_MS))), false);
    const told = device.live(HOUR_MS, never);
    const first = told.findIndex((ms) => ms !== undefined);
    assert.ok(Math.abs(first * CHECK_MS - silentAfterMs) <= 2 * CHECK_MS, `after ${first} checks`);
    assert.ok((told.at(-1) ?? 0) >= HOUR_MS - 2 * CHECK_MS, 'it is told since when');
    assert.equal(isTold(device.live(MINUTE_MS, () => true)), false);
  });

  test('a device that sends each hour is missed after four hours', () => {
    const device = watched();
    assert.equal(isTold(device.live(3 * DAY_MS, every(HOUR_MS))), false);
    const told = device.live(6 * HOUR_MS, never);
    const first = told.findIndex((ms) => ms !== undefined);
    assert.ok(first * CHECK_MS >= (silentPauses - 1) * HOUR_MS - 2 * CHECK_MS, `after ${first} checks`);
    assert.ok(first * CHECK_MS <= silentPauses * HOUR_MS, `after ${first} checks`);
  });

  test('no device is missed before two whole days are known, nor after another blueprint', () => {
    const device = watched();
    device.live(rhythmDaysMin * DAY_MS - HOUR_MS, every(MINUTE_MS));
    assert.equal(isTold(device.live(HOUR_MS - 2 * CHECK_MS, never)), false);
    device.live(3 * DAY_MS, every(MINUTE_MS));
    device.beginAnew();
    assert.equal(isTold(device.live(HOUR_MS, never)), false);
    assert.deepEqual(device.learned(), [['device', []]], 'nor by the next run');
  });

  test('the learned rhythm survives a restart', () => {
    const device = watched();
    device.live(rhythmDaysMin * DAY_MS + HOUR_MS, every(MINUTE_MS));
    device.restart();
    assert.equal(isTold(device.live(silentAfterMs - 2 * CHECK_MS, never)), false, 'it is given its time');
    assert.ok(isTold(device.live(HOUR_MS, never)));
    assert.deepEqual(device.learned(), [], 'nothing new');
    device.live(DAY_MS, every(2 * MINUTE_MS));
    const [[, days] = []] = device.learned();
    assert.equal(days?.length, rhythmDaysMin + 1);
    assert.deepEqual(days?.slice(0, rhythmDaysMin), [MINUTE_MS, MINUTE_MS]);
  });

  test('a device that sends on change or only by day has no rhythm', () => {
    const doors = watched();
    const atHours = [6, 6.1, 6.2, 7, 12, 12.5, 18, 18.1, 22].map((hour) => Math.round(hour * 60) * MINUTE_MS);
    assert.equal(isTold(doors.live(6 * DAY_MS, (ms) => atHours.includes(ms % DAY_MS))), false);
    assert.equal(isTold(doors.live(14 * DAY_MS, never)), false);
    const roof = watched();
    const isDay = (ms: number): boolean => ms % DAY_MS > 6 * HOUR_MS && ms % DAY_MS < 20 * HOUR_MS;
    assert.equal(isTold(roof.live(8 * DAY_MS, isDay)), false);
  });

  test('a burst followed by silence is no rhythm', () => {
    const device = watched();
    assert.equal(isTold(device.live(9 * DAY_MS, (ms) => ms % DAY_MS < 10 * MINUTE_MS)), false);
  });

  test('one failure does not change the rhythm, and a long one does not end it', () => {
    const device = watched();
    device.live(4 * DAY_MS, every(MINUTE_MS));
    assert.ok(isTold(device.live(5 * HOUR_MS, never)));
    assert.equal(isTold(device.live(20 * HOUR_MS, every(MINUTE_MS))), false);
    const again = device.live((rhythmDays + 3) * DAY_MS, never);
    assert.ok(again.slice(20).every((ms) => ms !== undefined));
  });

  test('a device that is OFFLINE is not silent, and gets its time when it is back', () => {
    const device = watched();
    device.live(3 * DAY_MS, every(MINUTE_MS));
    assert.equal(isTold(device.live(DAY_MS, never, never)), false);
    assert.equal(isTold(device.live(silentAfterMs - 2 * CHECK_MS, never)), false);
    assert.ok(isTold(device.live(HOUR_MS, never)));
  });
});
