/** Growing pauses between attempts to open something that may never come back. */

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
  let pauseMs = limits.reconnectFirstMs;
  let untilMs = Number.NEGATIVE_INFINITY;
  return {
    failed: (nowMs) => {
      untilMs = nowMs + pauseMs;
      pauseMs = Math.min(pauseMs * 2, limits.reconnectMaxMs);
    },
    succeeded: () => {
      pauseMs = limits.reconnectFirstMs;
      untilMs = Number.NEGATIVE_INFINITY;
    },
    isResting: (nowMs) => nowMs < untilMs,
  };
}
