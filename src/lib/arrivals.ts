/**
 * How fast newcomers may come from one address. What a connection costs before it can be judged, a TLS handshake
 * above all, is bounded by this. The caller hands in monotonic milliseconds.
 */
import { addressKey } from './address.ts';
import { createTokenBucket, type TokenBucket } from './token-bucket.ts';

export interface Arrivals {
  /** Counts one more; false when too many of its address came just now. */
  take(address: string | undefined, nowMs: number): boolean;
}

/** Addresses between two looks for those that are as good as new. */
const ADDRESSES_BETWEEN_SWEEPS = 1_000;

export function createArrivals(limits: { perSecond: number; burst: number }): Arrivals {
  const refilledMs = (limits.burst / limits.perSecond) * 1_000;
  const known = new Map<string, { bucket: TokenBucket; lastMs: number }>();
  let sweepAt = ADDRESSES_BETWEEN_SWEEPS;

  function sweep(nowMs: number): void {
    for (const [address, { lastMs }] of known) if (nowMs - lastMs >= refilledMs) known.delete(address);
    sweepAt = known.size + ADDRESSES_BETWEEN_SWEEPS;
  }

  return {
    take: (remoteAddress, nowMs) => {
      const address = addressKey(remoteAddress);
      if (known.size >= sweepAt) sweep(nowMs);
      const origin = known.get(address) ?? {
        bucket: createTokenBucket(limits.perSecond, limits.burst, nowMs),
        lastMs: nowMs,
      };
      origin.lastMs = nowMs;
      known.set(address, origin);
      return origin.bucket.take(nowMs);
    },
  };
}
