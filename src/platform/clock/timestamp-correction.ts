/**
 * Stamps that the wall clock gave while it was wrong (decision 0025), of two kinds. Those from before it was set:
 * they are off by the jump that set it; for stamps of an earlier run that jump is unknown, so they count as stamps
 * of the start of this run. And those of a clock that was ahead and was put back: they lie in the future, and are
 * off by the step back. A stamp of such a clock that lies in the past by now stays.
 */
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { Clock } from './clock.ts';
import { CLOCK_PLAUSIBLE_FROM_MS } from './proven-time.ts';

/**
 * A stamp before `plausibleFromMs` is off by `jumpMs`, one after `aheadFromMs` by `backMs`; corrected it lies
 * within `earliestMs` and `nowMs`. Whole numbers.
 */
export interface StampCorrection {
  plausibleFromMs: EpochMs;
  jumpMs: DurationMs;
  aheadFromMs: EpochMs;
  backMs: DurationMs;
  earliestMs: EpochMs;
  nowMs: EpochMs;
}

/** Calls `onCorrected` when a jump has set the clock or put it back: what was stored needs the correction. */
export function createStampCorrector(clock: Clock, onCorrected: () => void) {
  const startedMs = clock.monotonicMs();
  let jumpMs: DurationMs = 0;
  let backMs: DurationMs | undefined;
  const stop = clock.onStepped((steppedMs) => {
    if (!clock.isSet()) return;
    const wasSet = clock.wallMs() - steppedMs >= CLOCK_PLAUSIBLE_FROM_MS;
    if (wasSet && steppedMs >= 0) return;
    if (wasSet) backMs = steppedMs;
    else jumpMs = steppedMs;
    onCorrected();
  });
  return {
    /** Undefined while the clock is not set. */
    correction: (): StampCorrection | undefined => {
      if (!clock.isSet()) return undefined;
      const nowMs = Math.floor(clock.wallMs());
      const runStartMs = nowMs - (clock.monotonicMs() - startedMs);
      return {
        plausibleFromMs: CLOCK_PLAUSIBLE_FROM_MS,
        jumpMs: Math.round(jumpMs),
        aheadFromMs: backMs === undefined ? Number.MAX_SAFE_INTEGER : nowMs,
        backMs: Math.round(backMs ?? 0),
        earliestMs: Math.max(Math.round(runStartMs), CLOCK_PLAUSIBLE_FROM_MS),
        nowMs,
      };
    },
    stop,
  };
}

/** The stamp corrected by what is known of the clock that gave it; unchanged when the clock was right. */
export function correctStamp(stampMs: EpochMs, correction: StampCorrection): number {
  const { plausibleFromMs, jumpMs, aheadFromMs, backMs, earliestMs, nowMs } = correction;
  if (stampMs >= plausibleFromMs && stampMs <= aheadFromMs) return stampMs;
  const offMs = stampMs < plausibleFromMs ? jumpMs : backMs;
  return Math.min(Math.max(stampMs + offMs, earliestMs), nowMs);
}

/** A record in memory with its moments corrected; the same one when they were right. */
export function correctMoments<Made extends { createdAtMs: EpochMs; updatedAtMs?: EpochMs }>(
  record: Made,
  correction: StampCorrection,
): Made {
  const createdAtMs = correctStamp(record.createdAtMs, correction);
  const { updatedAtMs } = record;
  if (updatedAtMs === undefined)
    return createdAtMs === record.createdAtMs ? record : { ...record, createdAtMs };
  const changedAtMs = correctStamp(updatedAtMs, correction);
  const isRight = createdAtMs === record.createdAtMs && changedAtMs === updatedAtMs;
  return isRight ? record : { ...record, createdAtMs, updatedAtMs: changedAtMs };
}
