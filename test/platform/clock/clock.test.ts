import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { CLOCK_PLAUSIBLE_FROM_MS, createSystemClock, type Clock } from '../../../src/platform/clock/index.ts';
import { createStepDetector } from '../../../src/platform/clock/clock.ts';
import { settle, TestClock } from '../../support/test-clock.ts';

const STEP_MS = 5;

interface Subject {
  clock: Clock;
  /** Lets so much time go by. */
  pass: (durationMs: number) => Promise<void>;
  end: () => void;
}

const subjects: [name: string, make: () => Subject][] = [
  [
    'the system clock',
    () => {
      const clock = createSystemClock();
      // In steps: on a machine that stood still for a while, what is due then fires before the next one.
      const pass = async (durationMs: number): Promise<void> => {
        for (let leftMs = durationMs + STEP_MS; leftMs > 0; leftMs -= STEP_MS) await pause(STEP_MS);
      };
      return { clock, pass, end: clock.close };
    },
  ],
  [
    'the test clock',
    () => {
      const clock = new TestClock();
      return { clock, pass: (durationMs) => clock.advance(durationMs), end: () => undefined };
    },
  ],
];

for (const [name, make] of subjects)
  describe(name, () => {
    const scenario = (title: string, run: (subject: Subject, seen: unknown[]) => Promise<void>): void =>
      void test(title, async () => {
        const subject = make();
        try {
          await run(subject, []);
        } finally {
          subject.end();
        }
      });

    scenario('never calls back before it returns, not even after no time', async ({ clock, pass }, seen) => {
      clock.setTimer(0, () => seen.push('fired'));
      assert.deepEqual(seen, []);
      await pass(1);
      assert.deepEqual(seen, ['fired']);
    });

    scenario(
      'fires timers by due time, those of one time in the order set',
      async ({ clock, pass }, seen) => {
        clock.setTimer(30, () => seen.push('late'));
        clock.setTimer(10, () => seen.push('first'));
        clock.setTimer(10, () => seen.push('second'));
        await pass(40);
        assert.deepEqual(seen, ['first', 'second', 'late']);
      },
    );

    scenario('never fires a cancelled timer', async ({ clock, pass }, seen) => {
      const timer = clock.setTimer(5, () => seen.push('fired'));
      timer.cancel();
      timer.cancel();
      await pass(10);
      assert.deepEqual(seen, []);
    });

    scenario('repeats until cancelled from inside', async ({ clock, pass }, seen) => {
      const timer = clock.setRepeating(2, () => {
        seen.push('fired');
        if (seen.length === 3) timer.cancel();
      });
      assert.deepEqual(seen, []);
      await pass(100);
      assert.equal(seen.length, 3);
    });

    scenario('repeats until cancelled from outside', async ({ clock, pass }, seen) => {
      const timer = clock.setRepeating(1, () => seen.push('fired'));
      await pass(50);
      timer.cancel();
      const count = seen.length;
      assert.ok(count >= 2);
      await pass(5);
      assert.equal(seen.length, count);
    });

    scenario('sleeps so long on the monotonic clock', async ({ clock, pass }) => {
      const startedMs = clock.monotonicMs();
      const startedWallMs = clock.wallMs();
      const [sleptMs] = await Promise.all([
        clock.sleep(20).then(() => clock.monotonicMs() - startedMs),
        pass(20),
      ]);
      assert.ok(sleptMs >= 19 && sleptMs < 1_000, `${sleptMs} ms`);
      assert.ok(clock.wallMs() >= startedWallMs + 19);
    });

    scenario('ends a sleep with the reason of the signal', async ({ clock, pass }) => {
      const controller = new AbortController();
      const sleep = clock.sleep(10_000, controller.signal);
      controller.abort(new Error('stopping'));
      await assert.rejects(sleep, /stopping/);
      await assert.rejects(clock.sleep(10_000, controller.signal), /stopping/);
      await pass(1);
    });

    scenario('knows that it has been set', async ({ clock }) => {
      assert.equal(clock.isSet(), clock.wallMs() >= CLOCK_PLAUSIBLE_FROM_MS);
    });
  });

describe('the system clock', () => {
  test('the system clock does not fire a timer of two months at once', (t) => {
    const waits: { fn: () => void; durationMs: number }[] = [];
    t.mock.method(globalThis, 'setTimeout', ((fn: () => void, durationMs: number) => {
      waits.push({ fn, durationMs });
      return waits.length as unknown as NodeJS.Timeout;
    }) as typeof setTimeout);
    const cleared = t.mock.method(globalThis, 'clearTimeout', () => undefined);
    const clock = createSystemClock();
    t.after(clock.close);
    const seen: string[] = [];
    const timer = clock.setTimer(60 * 86_400_000, () => seen.push('fired'));
    for (let at = 0; at < waits.length; at++) {
      assert.deepEqual(seen, []);
      waits[at]?.fn();
    }
    assert.deepEqual(seen, ['fired']);
    assert.ok(waits.every(({ durationMs }) => durationMs < 2 ** 31));
    assert.equal(
      waits.reduce((sumMs, { durationMs }) => sumMs + durationMs, 0),
      60 * 86_400_000,
    );
    timer.cancel();
    assert.deepEqual(cleared.mock.calls[0]?.arguments, [waits.length]);
  });

  test('the system clock does not keep the process alive by itself', async () => {
    const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const clock = createSystemClock();
    assert.equal(process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length, before);
    clock.close();
  });
});

describe('the detection of steps', () => {
  const detect = (offsetsMs: number[]): (number | undefined)[] => {
    let at = 0;
    const stepMs = createStepDetector(() => offsetsMs[at++] ?? 0);
    return offsetsMs.slice(1).map(() => stepMs());
  };

  test('the detection of steps ignores slow correction, however much it adds up to', () => {
    const slewed = Array.from({ length: 60 }, (_, second) => second * 500);
    assert.ok(detect(slewed).every((jumpMs) => jumpMs === undefined));
  });

  test('the detection of steps reports a jump once, forward and back', () => {
    assert.deepEqual(detect([0, 10, 56 * 31_536_000_000, 56 * 31_536_000_000, 0]), [
      undefined,
      56 * 31_536_000_000 - 10,
      undefined,
      -56 * 31_536_000_000,
    ]);
  });

  test('the detection of steps begins at a jump of a second and a half between two looks', () => {
    assert.deepEqual(detect([0, 1_499, 2_999]), [undefined, 1_500]);
  });
});

describe('the test clock', () => {
  test('the test clock steps the wall clock alone and notifies its listeners', async () => {
    const clock = new TestClock(0);
    const jumps: number[] = [];
    const end = clock.onStepped((jumpMs) => jumps.push(jumpMs));
    assert.equal(clock.isSet(), false);
    const monotonicMs = clock.monotonicMs();
    clock.step(CLOCK_PLAUSIBLE_FROM_MS);
    assert.deepEqual([jumps, clock.isSet()], [[CLOCK_PLAUSIBLE_FROM_MS], true]);
    assert.equal(clock.monotonicMs(), monotonicMs);
    end();
    clock.step(-5);
    assert.equal(jumps.length, 1);
  });

  test('the test clock fires timers that a timer sets within the elapsed time', async () => {
    const clock = new TestClock();
    const at: number[] = [];
    const startMs = clock.monotonicMs();
    clock.setTimer(10, () => clock.setTimer(10, () => at.push(clock.monotonicMs() - startMs)));
    await clock.advance(25);
    assert.deepEqual(at, [20]);
    assert.equal(clock.waiting, 0);
  });

  test('the test clock lets promises settle between timers', async () => {
    const clock = new TestClock();
    const seen: string[] = [];
    clock.setTimer(1, () => void settle().then(() => seen.push('settled')));
    clock.setTimer(2, () => seen.push('second'));
    await clock.advance(2);
    assert.deepEqual(seen, ['settled', 'second']);
  });
});
