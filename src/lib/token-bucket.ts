/**
 * A token bucket: `burst` at once, `perSecond` sustained. The caller hands in monotonic milliseconds, so
 * that it works with any clock.
 */
export interface TokenBucket {
  /** Takes one token; false when there is none. */
  take(nowMs: number): boolean;
  /** Takes as many, on credit if need be. */
  spend(nowMs: number, count: number): void;
  /** Milliseconds until there is one, 0 when there is. */
  waitMs(nowMs: number): number;
}

export function createTokenBucket(perSecond: number, burst: number, nowMs: number): TokenBucket {
  let tokens = burst;
  let filledMs = nowMs;
  const fill = (atMs: number): void => {
    tokens = Math.min(burst, tokens + ((atMs - filledMs) / 1_000) * perSecond);
    filledMs = atMs;
  };
  return {
    take: (atMs) => {
      fill(atMs);
      if (tokens < 1) return false;
      tokens -= 1;
      return true;
    },
    spend: (atMs, count) => {
      fill(atMs);
      tokens -= count;
    },
    waitMs: (atMs) => {
      fill(atMs);
      return tokens >= 1 ? 0 : ((1 - tokens) / perSecond) * 1_000;
    },
  };
}
