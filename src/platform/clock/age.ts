/**
 * Says what may be deleted for its age although the wall clock may be wrong: it can start in 1970 or in
 * some far future and jump later. Two rules keep young rows:
 *
 *   1. Nothing is judged while the clock is not set, nor within `settleMs` after the start or after a jump;
 *      a time service corrects a wrong clock within minutes.
 *   2. Rows of this run are old only when monotonic time says so too. `note` remembers which row was the
 *      newest when; rows carry growing numbers.
 *
 * Rows of earlier runs have only their stamps.
 */
import type { Clock } from './clock.ts';

export interface AgeJudge {
  /** Tells the number of the newest row; called regularly, it costs nothing. */
  note(newestNumber: number): void;
  /**
   * Rows with a stamp before `beforeMs` and a number up to `throughNumber` are older than the lifetime;
   * undefined while nothing can be said.
   */
  old(): { beforeMs: number; throughNumber: number } | undefined;
  stop(): void;
}

/** Smaller corrections leave an age of hours as it is. */
const TOLERATED_STEP_MS = 60_000;
/** A row of this run is kept up to a thousandth of its lifetime longer. */
const CHECKPOINTS_PER_LIFETIME = 1_000;

/** `newestNumber` is the newest row of earlier runs. */
export function createAgeJudge(options: {
  clock: Clock;
  lifetimeMs: number;
  newestNumber: number;
  settleMs: number;
}): AgeJudge {
  const { clock, lifetimeMs, newestNumber, settleMs } = options;
  const checkpoints: { atMs: number; number: number }[] = [];
  let restlessMs = clock.monotonicMs();
  const stop = clock.onStepped((jumpMs) => {
    if (Math.abs(jumpMs) >= TOLERATED_STEP_MS) restlessMs = clock.monotonicMs();
  });

  return {
    note: (number) => {
      const atMs = clock.monotonicMs();
      const last = checkpoints.at(-1);
      if (last && atMs - last.atMs < lifetimeMs / CHECKPOINTS_PER_LIFETIME) return;
      checkpoints.push({ atMs, number });
      while (checkpoints[1] && atMs - checkpoints[1].atMs >= lifetimeMs) checkpoints.shift();
    },
    old: () => {
      const nowMs = clock.monotonicMs();
      if (!clock.isSet() || nowMs - restlessMs < settleMs) return undefined;
      const aged = checkpoints.findLast(({ atMs }) => nowMs - atMs >= lifetimeMs);
      return {
        beforeMs: clock.wallMs() - lifetimeMs,
        throughNumber: Math.max(newestNumber, aged?.number ?? 0),
      };
    },
    stop,
  };
}
