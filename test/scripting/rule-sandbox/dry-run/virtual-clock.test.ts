import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../../../../src/scripting/rule-sandbox/dry-run/dry-run.ts';

const START_MS = 1_000_000;

/** Fires everything; what was fired, and when. */
function fireAll(clock: VirtualClock, most = 10): number[] {
  const atMs: number[] = [];
  for (let count = 0; count < most && Number.isFinite(clock.nextDueMs()); count++) {
    clock.fireNext();
    atMs.push(clock.wallMs() - START_MS);
  }
  return atMs;
}

test('the virtual clock stands still until it is moved, and never goes back', () => {
  const clock = new VirtualClock(START_MS);
  clock.fireNext();
  clock.moveTo(START_MS + 5);
  clock.moveTo(START_MS + 1);
  assert.deepEqual([clock.wallMs(), clock.monotonicMs(), clock.isSet()], [START_MS + 5, 5, true]);
  clock.onStepped()();
});

test('the virtual clock fires timers by the time they are due, at one instant in the order they were set', () => {
  const clock = new VirtualClock(START_MS);
  const fired: string[] = [];
  clock.setTimer(20, () => fired.push('late'));
  clock.setTimer(10, () => fired.push('first'));
  clock.setTimer(10, () => fired.push('second'));
  clock.setTimer(5, () => fired.push('never')).cancel();
  clock.setTimer(-1, () => fired.push('now'));
  assert.deepEqual(fireAll(clock), [0, 10, 10, 20]);
  assert.deepEqual(fired, ['now', 'first', 'second', 'late']);
});

test('the virtual clock repeats until it is cancelled, from within as well', () => {
  const clock = new VirtualClock(START_MS);
  let count = 0;
  const timer = clock.setRepeating(10, () => {
    if (++count === 3) timer.cancel();
  });
  assert.deepEqual(fireAll(clock), [10, 20, 30]);
});

test('the virtual clock sleeps in its own time, and an abort ends the sleep', async () => {
  const clock = new VirtualClock(START_MS);
  const slept = clock.sleep(10);
  clock.fireNext();
  await slept;
  const abort = new AbortController();
  const ended = clock.sleep(10, abort.signal);
  abort.abort(new Error('enough'));
  await assert.rejects(ended, /enough/);
  assert.equal(clock.nextDueMs(), Number.POSITIVE_INFINITY);
});
