/**
 * The brands of time are judged by the compiler: each line below an expected error is one that it has to refuse, and
 * the types of the project are red as soon as it takes one of them.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../src/lib/limits.ts';
import {
  type DurationMs,
  type DurationS,
  type EpochMs,
  type EpochS,
  formatTimestamp,
  type MonotonicMs,
} from '../../src/lib/time.ts';
import { TestClock } from '../support/test-clock.ts';

const atMs = (instantMs: EpochMs): number => instantMs;
const atS = (instantS: EpochS): number => instantS;
const deadlineMs = (readingMs: MonotonicMs): number => readingMs;
const forMs = (lengthMs: DurationMs): number => lengthMs;
const forS = (lengthS: DurationS): number => lengthS;

describe('brands of time', () => {
  const clock = new TestClock(Date.UTC(2026, 6, 1));
  const wallMs = clock.wallMs();
  const monotonicMs = clock.monotonicMs();
  const timeoutMs: DurationMs = 5_000;
  const timeoutS: DurationS = 5;
  const timeS: EpochS = 1_782_864_000;

  test('one brand of time does not fit another', () => {
    // @ts-expect-error a duration is no instant
    assert.equal(atMs(timeoutMs), 5_000);
    // @ts-expect-error an instant is no duration
    assert.equal(forMs(wallMs), wallMs);
    // @ts-expect-error the monotonic clock does not know the date
    assert.equal(atMs(monotonicMs), 1_000);
    // @ts-expect-error the wall clock jumps: no deadline is on it
    assert.equal(deadlineMs(wallMs), wallMs);
    // @ts-expect-error a duration is no reading of a clock
    assert.equal(deadlineMs(timeoutMs), 5_000);
    // @ts-expect-error seconds are no milliseconds
    assert.equal(atMs(timeS), timeS);
    // @ts-expect-error milliseconds are no seconds
    assert.equal(atS(wallMs), wallMs);
    // @ts-expect-error seconds are no milliseconds, of a duration too
    assert.equal(forMs(timeoutS), 5);
    // @ts-expect-error milliseconds are no seconds, of a duration too
    assert.equal(forS(timeoutMs), 5_000);
  });

  test('the parts of the gateway require their brand of time', async () => {
    // @ts-expect-error an instant is written, not a duration
    assert.equal(formatTimestamp(timeoutMs), '1970-01-01T00:00:05.000Z');
    // @ts-expect-error nor a limit
    assert.equal(formatTimestamp(LIMITS.stop.totalMs), '1970-01-01T00:00:10.000Z');
    // @ts-expect-error a timer runs for a duration, not until an instant
    const timer = clock.setTimer(clock.wallMs(), () => assert.fail('rang'));
    await clock.advance(timeoutMs);
    timer.cancel();
  });

  test('optional times and lists of times keep their brand', () => {
    const lastMs: EpochMs | undefined = wallMs;
    const ages: DurationMs[] = [timeoutMs];
    // @ts-expect-error an instant is no duration
    assert.deepEqual([lastMs].map(forMs), [wallMs]);
    // @ts-expect-error durations are no instants
    assert.deepEqual(ages.map(atMs), [5_000]);
  });

  test('literals, plain numbers and computed times fit', () => {
    const stored = JSON.parse('1782864000000') as number;
    assert.equal(atMs(0), 0);
    assert.equal(atMs(stored), stored);
    assert.equal(atMs(wallMs + timeoutMs), wallMs + 5_000);
    assert.equal(forMs(wallMs - Date.UTC(2026, 5, 30)), 86_400_000);
    assert.equal(deadlineMs(monotonicMs + timeoutMs), 6_000);
    assert.equal(atS(wallMs / 1_000), timeS);
    assert.equal(JSON.stringify({ wallMs }), '{"wallMs":1782864000000}');
  });
});
