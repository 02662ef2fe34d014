/**
 * Moments that were stored before the clock was set (decision 6). Their distance to the truth is the jump
 * that sets the clock; of those of an earlier run nobody knows it, so they count as of the start of this run.
 */
import { type Clock, CLOCK_PLAUSIBLE_FROM_MS } from './clock.ts';

/** A stamp before `plausibleFromMs` becomes `min(max(stamp + jumpMs, earliestMs), nowMs)`. Whole numbers. */
export interface StampCorrection {
  plausibleFromMs: number;
  jumpMs: number;
  earliestMs: number;
  nowMs: number;
}

export interface StampCorrector {
  /** Undefined while the clock is not set. */
  correction(): StampCorrection | undefined;
  stop(): void;
}

/** `onSet` runs when a jump has set the clock. */
export function createStampCorrector(clock: Clock, onSet: () => void): StampCorrector {
  const startedMs = clock.monotonicMs();
  let jumpMs = 0;
  const stop = clock.onStepped((steppedMs) => {
    if (!clock.isSet() || clock.wallMs() - steppedMs >= CLOCK_PLAUSIBLE_FROM_MS) return;
    jumpMs = steppedMs;
    onSet();
  });
  return {
    correction: () => {
      if (!clock.isSet()) return undefined;
      const nowMs = clock.wallMs();
      const runStartMs = nowMs - (clock.monotonicMs() - startedMs);
      return {
        plausibleFromMs: CLOCK_PLAUSIBLE_FROM_MS,
        jumpMs: Math.round(jumpMs),
        earliestMs: Math.max(Math.round(runStartMs), CLOCK_PLAUSIBLE_FROM_MS),
        nowMs,
      };
    },
    stop,
  };
}

export function correctStamp(stampMs: number, correction: StampCorrection): number {
  if (stampMs >= correction.plausibleFromMs) return stampMs;
  return Math.min(Math.max(stampMs + correction.jumpMs, correction.earliestMs), correction.nowMs);
}
