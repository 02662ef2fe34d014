import type { DurationMs, MonotonicMs } from './time.ts';

/** Error of adding up fractions of tokens and milliseconds. */
const ROUNDING = 1e-6;

/**
 * The rate limit that everything here uses: a token bucket. It gives `burst` at once and `perSecond` in the long run,
 * exactly: within any stretch of `s` seconds at most `burst + s * perSecond` tokens, never twice the burst, as
 * counters of fixed windows give. Plain arithmetic without timers, so that it can run for every message; the
 * caller hands in monotonic milliseconds, so that it works with any clock.
 *
 *   - `take` where a caller is refused when nothing is left (HTTP, logs); `waitMs` says when to try again.
 *   - `borrow` where a sender is slowed down instead (messages of a connection) and pays back by waiting.
 *
 * Tokens may be parts and need not be equal: hand in what a piece of work costs. One bucket an identity; keep
 * them in a map with a bound, and drop those that are `isFull`: nothing is forgotten by it.
 */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: MonotonicMs;

  /** Full at `nowMs`. `perSecond` above 0; with a `burst` below 1, `take` never gives a whole token. */
  constructor(perSecond: number, burst: number, nowMs: MonotonicMs) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes so many tokens; false, and takes none, when there are fewer. */
  take(nowMs: MonotonicMs, tokens = 1): boolean {
    this.#refill(nowMs);
    if (this.#tokens < tokens - ROUNDING) return false;
    this.#tokens -= tokens;
    return true;
  }

  /** Takes tokens even on credit; returns the milliseconds until the credit is paid back, 0 without one. */
  borrow(nowMs: MonotonicMs, tokens = 1): number {
    this.#refill(nowMs);
    this.#tokens -= tokens;
    return this.#msUntil(0);
  }

  /** Milliseconds until `take` of so many tokens succeeds, for `Retry-After`; infinite above the burst. */
  waitMs(nowMs: MonotonicMs, tokens = 1): DurationMs {
    if (tokens > this.#burst) return Number.POSITIVE_INFINITY;
    this.#refill(nowMs);
    return this.#msUntil(tokens);
  }

  /** True when this bucket can be dropped without forgetting anything. */
  isFull(nowMs: MonotonicMs): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#burst;
  }

  #msUntil(tokens: number): number {
    return Math.max(0, Math.ceil(((tokens - this.#tokens) * 1_000) / this.#perSecond - ROUNDING));
  }

  #refill(nowMs: MonotonicMs): void {
    if (nowMs <= this.#atMs) return;
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1_000);
    this.#atMs = nowMs;
  }
}

// One rate for each of many callers, by a key such as an address or a token. The caller hands in monotonic
// milliseconds. A key whose bucket is full again is forgotten.

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
