/** Growing pauses between attempts to open something that may never come back. */
import { DoublingPause } from '../../../lib/doubling-pause.ts';

export interface RetryPause {
  /** An attempt failed; the next one may be made after the pause. */
  failed(nowMs: number): void;
  /** It works: the next failure begins with the shortest pause again. */
  succeeded(): void;
  /** True while no attempt may be made. */
  isResting(nowMs: number): boolean;
}

/** Doubles from `reconnectFirstMs` to `reconnectMaxMs`; times are monotonic. */
export function createRetryPause(limits: {
  readonly reconnectFirstMs: number;
  readonly reconnectMaxMs: number;
}): RetryPause {
  const pause = new DoublingPause({ firstMs: limits.reconnectFirstMs, maxMs: limits.reconnectMaxMs });
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    failed: (nowMs) => {
      untilMs = nowMs + pause.next();
    },
    succeeded: () => {
      pause.reset();
      untilMs = Number.NEGATIVE_INFINITY;
    },
    isResting: (nowMs) => nowMs < untilMs,
  };
}
