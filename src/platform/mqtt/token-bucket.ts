/**
 * Rate of messages of one identity. Own arithmetic because it runs for every message: a promise per
 * message, as the rate limiter of the login path makes, would cost more than the message.
 */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #atMs: number;

  constructor(perSecond: number, burst: number, nowMs: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = nowMs;
  }

  /** Takes a token, or a part of one; false, and nothing taken, when there is not so much. */
  take(nowMs: number, tokens = 1): boolean {
    this.#refill(nowMs);
    if (this.#tokens < tokens) return false;
    this.#tokens -= tokens;
    return true;
  }

  /** Takes it even on credit; returns the milliseconds until the credit is paid back, 0 if none. */
  borrow(nowMs: number, tokens = 1): number {
    this.#refill(nowMs);
    this.#tokens -= tokens;
    return this.#tokens >= 0 ? 0 : Math.ceil((-this.#tokens * 1_000) / this.#perSecond);
  }

  /** True when nothing would be forgotten by dropping this bucket. */
  isFull(nowMs: number): boolean {
    this.#refill(nowMs);
    return this.#tokens >= this.#burst;
  }

  #refill(nowMs: number): void {
    if (nowMs <= this.#atMs) return;
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#atMs) * this.#perSecond) / 1_000);
    this.#atMs = nowMs;
  }
}
