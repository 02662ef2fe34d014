import type { DurationMs } from './time.ts';

/** The pauses between attempts at something that may stay broken: each twice the last, up to a longest one. */
export class DoublingPause {
  readonly #firstMs: DurationMs;
  readonly #maxMs: DurationMs;
  #nextMs: DurationMs;

  constructor(limits: { firstMs: DurationMs; maxMs: DurationMs }) {
    this.#firstMs = limits.firstMs;
    this.#maxMs = limits.maxMs;
    this.#nextMs = limits.firstMs;
  }

  /** The pause to make now, after a failure. */
  next(): number {
    const pauseMs = this.#nextMs;
    this.#nextMs = Math.min(pauseMs * 2, this.#maxMs);
    return pauseMs;
  }

  /** The pause after something that ran for so long: the shortest again once that was `stableMs`. */
  nextAfter(ranMs: DurationMs, stableMs: DurationMs): number {
    if (ranMs >= stableMs) this.reset();
    return this.next();
  }

  /** It worked: the next failure is followed by the shortest pause again. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
