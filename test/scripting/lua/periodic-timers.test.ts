import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as assertProperty, asyncProperty, integer } from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import { PeriodicTimers } from '../../../src/scripting/lua/machine.ts';
import { TestClock } from '../../support/test-clock.ts';
import { testScript } from '../../support/lua.ts';

const { timerSlackPermille, jobPeriodMs } = LIMITS.lua;

function timers(clock: TestClock): PeriodicTimers {
  return new PeriodicTimers(clock, timerSlackPermille);
}

describe('timers of what comes again and again', () => {
  test('periodic timers fire together when they are due at nearly the same time', async () => {
    const clock = new TestClock();
    const periodic = timers(clock);
    const firedMs: number[] = [];
    for (const dueMs of [1_981, 1_990, 2_000, 2_001])
      periodic.set(dueMs, 1_000, () => firedMs.push(clock.monotonicMs()));
    assert.equal(clock.waiting, 2);
    await clock.advance(2_000);
    assert.deepEqual(firedMs, [2_000, 2_000, 2_000, 2_020]);
    assert.equal(clock.waiting, 0);
  });

  test('periodic timers are never early, and late by a fiftieth of their period at most', async () => {
    await assertProperty(
      asyncProperty(
        integer({ min: 0, max: 100_000_000 }),
        integer({ min: jobPeriodMs, max: 100_000 }),
        async (dueIn10Us, periodMs) => {
          const clock = new TestClock();
          const dueMs = clock.monotonicMs() + dueIn10Us / 100;
          let lateMs = -1;
          timers(clock).set(dueMs, periodMs, () => (lateMs = clock.monotonicMs() - dueMs));
          await clock.advance(dueIn10Us / 100 + periodMs);
          // A timer of the system takes whole milliseconds.
          assert.ok(lateMs >= 0 && lateMs < 1 + Math.min(20, periodMs / 50), `${lateMs} ms late`);
        },
      ),
    );
  });

  test('periodic timers do not fire once they are cancelled, and leave nothing behind', async () => {
    const clock = new TestClock();
    const periodic = timers(clock);
    const fired: string[] = [];
    const [first, second] = ['first', 'second'].map((name) =>
      periodic.set(2_000, 1_000, () => fired.push(name)),
    );
    first?.cancel();
    first?.cancel();
    await clock.advance(1_000);
    assert.deepEqual(fired, ['second']);
    second?.cancel();
    const [third, fourth] = [2_500, 2_500].map((dueMs) =>
      periodic.set(dueMs, 1_000, () => fired.push('late')),
    );
    third?.cancel();
    fourth?.cancel();
    assert.equal(clock.waiting, 0);
  });

  test('a periodic timer may cancel another one due at its moment, and set the next', async () => {
    const clock = new TestClock();
    const periodic = timers(clock);
    const fired: string[] = [];
    periodic.set(2_000, 1_000, () => {
      fired.push('first');
      second.cancel();
      periodic.set(2_000, 1_000, () => fired.push('again'));
    });
    const second = periodic.set(2_000, 1_000, () => fired.push('second'));
    await clock.advance(1_000);
    assert.deepEqual(fired, ['first', 'again']);
  });

  test('periodic timers let functions of scripts keep their period in the long run', async () => {
    const clock = new TestClock();
    await clock.advance(7);
    const { script, printed } = testScript({ clock });
    await script.run(Buffer.from('scheduler.add(1234, function() print(1) end)'), 'm.lua');
    await clock.advance(100 * 1_234 + 20);
    assert.equal(printed.length, 100);
    script.close();
    assert.equal(clock.waiting, 0);
  });
});
