/**
 * How fast newcomers may come from one address. What a connection costs before it can be judged, a TLS handshake
 * above all, is bounded by this. The caller hands in monotonic milliseconds.
 */
import { addressKey } from './address.ts';
import { Rates } from './rates.ts';

export interface Arrivals {
  /** Counts one more; false when too many of its address came just now. */
  take(address: string | undefined, nowMs: number): boolean;
}

export function createArrivals(limits: { perSecond: number; burst: number }): Arrivals {
  const rates = new Rates(limits);
  return { take: (address, nowMs) => rates.take(addressKey(address), nowMs) === 0 };
}
