import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  CLOCK_PLAUSIBLE_FROM_MS,
  correctStamp,
  createStampCorrector,
} from '../../../src/platform/clock/index.ts';
import { TestClock } from '../../support/test-clock.ts';

const HOUR_MS = 3_600_000;

function corrected(stampMs: number, corrector: ReturnType<typeof createStampCorrector>): number | undefined {
  const correction = corrector.correction();
  return correction && correctStamp(stampMs, correction);
}

describe('stamps of the time before the clock was set', () => {
  test('stamps of the time before the clock was set stay while it is not set, also over a jump that does not set it', () => {
    const clock = new TestClock(0);
    let setCount = 0;
    const corrector = createStampCorrector(clock, () => setCount++);
    assert.equal(corrector.correction(), undefined);
    clock.step(HOUR_MS);
    assert.equal(corrector.correction(), undefined);
    assert.equal(setCount, 0);
  });

  test('stamps of the time before the clock was set move by the jump that sets it, and by no later jump', async () => {
    const clock = new TestClock(1_000);
    let setCount = 0;
    const corrector = createStampCorrector(clock, () => setCount++);
    await clock.advance(HOUR_MS);
    const jumpMs = Date.UTC(2027, 0, 1);
    clock.step(jumpMs);
    assert.equal(corrected(2_000, corrector), jumpMs + 2_000);
    clock.step(5_000);
    assert.equal(corrected(2_000, corrector), jumpMs + 6_000, 'never before this run began');
    assert.equal(setCount, 1);
  });

  test('stamps of the time before the clock was set count as of the start of this run when they are of an earlier one', async () => {
    const clock = new TestClock();
    const startMs = clock.wallMs();
    const corrector = createStampCorrector(clock, () => undefined);
    await clock.advance(HOUR_MS);
    assert.equal(corrected(2_000, corrector), startMs);
  });

  test('stamps of the time before the clock was set never lie in the future nor before the clock could be set', () => {
    const clock = new TestClock(HOUR_MS);
    const corrector = createStampCorrector(clock, () => undefined);
    clock.step(CLOCK_PLAUSIBLE_FROM_MS);
    assert.equal(corrected(30 * 24 * HOUR_MS, corrector), clock.wallMs());
    assert.equal(corrected(0, corrector), clock.wallMs());
  });

  test('stamps of the time before the clock was set stay when they are plausible', () => {
    const corrector = createStampCorrector(new TestClock(), () => undefined);
    assert.equal(corrected(CLOCK_PLAUSIBLE_FROM_MS, corrector), CLOCK_PLAUSIBLE_FROM_MS);
  });

  test('stamps of the time before the clock was set are no longer watched after the stop', () => {
    const clock = new TestClock(0);
    let setCount = 0;
    createStampCorrector(clock, () => setCount++).stop();
    clock.step(CLOCK_PLAUSIBLE_FROM_MS);
    assert.equal(setCount, 0);
  });
});
