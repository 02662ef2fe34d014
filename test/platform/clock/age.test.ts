import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createAgeJudge } from '../../../src/platform/clock/index.ts';
import { TestClock } from '../../support/test-clock.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

function judgeOn(clock: TestClock, newestNumber = 100) {
  return createAgeJudge({ clock, lifetimeMs: DAY_MS, newestNumber, settleMs: HOUR_MS });
}

describe('what may be deleted for its age', () => {
  test('is not known while the clock is not set', async () => {
    const clock = new TestClock(0);
    const judge = judgeOn(clock);
    await clock.advance(2 * DAY_MS);
    assert.equal(judge.old(), undefined);
  });

  test('is not known within the hour after the start, nor after a jump', async () => {
    const clock = new TestClock();
    const judge = judgeOn(clock);
    await clock.advance(HOUR_MS - 1);
    assert.equal(judge.old(), undefined);
    await clock.advance(1);
    assert.ok(judge.old());
    clock.step(-DAY_MS);
    assert.equal(judge.old(), undefined);
    await clock.advance(HOUR_MS);
    assert.ok(judge.old());
  });

  test('is known through a small correction', async () => {
    const clock = new TestClock();
    const judge = judgeOn(clock);
    await clock.advance(HOUR_MS);
    clock.step(2_000);
    assert.ok(judge.old());
  });

  test('is of earlier runs only, until this run is older than the lifetime', async () => {
    const clock = new TestClock();
    const judge = judgeOn(clock);
    judge.note(101);
    await clock.advance(DAY_MS - 1);
    judge.note(200);
    assert.deepEqual(judge.old(), { beforeMs: clock.wallMs() - DAY_MS, throughNumber: 100 });
    await clock.advance(1);
    assert.deepEqual(judge.old(), { beforeMs: clock.wallMs() - DAY_MS, throughNumber: 101 });
    await clock.advance(DAY_MS);
    assert.equal(judge.old()?.throughNumber, 200);
  });

  test('is at most a thousandth of the lifetime late, over any time', async () => {
    const clock = new TestClock();
    const judge = judgeOn(clock, 0);
    const minutes = (2 * DAY_MS) / 60_000;
    for (let minute = 0; minute < minutes; minute++) {
      judge.note(minute);
      await clock.advance(60_000);
    }
    const through = judge.old()?.throughNumber ?? 0;
    const exact = minutes - DAY_MS / 60_000;
    assert.ok(through <= exact && through >= exact - 3, `${through} of ${exact}`);
  });
});
