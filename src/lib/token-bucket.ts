/**
 * A token bucket: `burst` at once, `perSecond` sustained. The caller hands in monotonic milliseconds, so
 * that it works with any clock.
 */
export interface TokenBucket {
  /** Takes one token; false when there is none. */
  take(nowMs: number): boolean;
}

export function createTokenBucket(perSecond: number, burst: number, nowMs: number): TokenBucket {
  let tokens = burst;
  let filledMs = nowMs;
  return {
    take: (atMs) => {
      tokens = Math.min(burst, tokens + ((atMs - filledMs) / 1_000) * perSecond);
      filledMs = atMs;
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
  };
}
