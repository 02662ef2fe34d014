/**
 * One rate for each of many callers, by a key such as an address or a token. The caller hands in monotonic
 * milliseconds. A key whose bucket is full again is forgotten.
 */
import type { MonotonicMs } from './time.ts';
import { TokenBucket } from './token-bucket.ts';

/** New keys between two searches for those that can be forgotten. */
const KEYS_BETWEEN_SWEEPS = 1_000;

export class Rates {
  readonly #limits: { perSecond: number; burst: number };
  readonly #known = new Map<string, { bucket: TokenBucket; lastMs: MonotonicMs }>();
  #sweepAt = KEYS_BETWEEN_SWEEPS;

  /** `burst` at once, `perSecond` sustained. */
  constructor(limits: { perSecond: number; burst: number }) {
    this.#limits = limits;
  }

  /** Counts one more; returns 0, or the milliseconds until the next one is allowed when there were too many. */
  take(key: string, nowMs: MonotonicMs): number {
    const bucket = this.#bucketOf(key, nowMs);
    return bucket.take(nowMs) ? 0 : bucket.waitMs(nowMs);
  }

  /** Milliseconds until the key has tokens again after work on credit; 0 when it has. */
  waitMs(key: string, nowMs: MonotonicMs): number {
    return this.#bucketOf(key, nowMs).waitMs(nowMs);
  }

  /** For work whose cost is known only when it is done: takes tokens even on credit. */
  spend(key: string, nowMs: MonotonicMs, tokens: number): void {
    this.#bucketOf(key, nowMs).borrow(nowMs, tokens);
  }

  #bucketOf(key: string, nowMs: MonotonicMs): TokenBucket {
    const { perSecond, burst } = this.#limits;
    if (this.#known.size >= this.#sweepAt) this.#sweep(nowMs);
    let entry = this.#known.get(key);
    if (!entry) {
      entry = { bucket: new TokenBucket(perSecond, burst, nowMs), lastMs: nowMs };
      this.#known.set(key, entry);
    }
    entry.lastMs = nowMs;
    return entry.bucket;
  }

  #sweep(nowMs: MonotonicMs): void {
    const refilledMs = (this.#limits.burst / this.#limits.perSecond) * 1_000;
    for (const [key, { lastMs }] of this.#known) if (nowMs - lastMs >= refilledMs) this.#known.delete(key);
    this.#sweepAt = this.#known.size + KEYS_BETWEEN_SWEEPS;
  }
}
