import type { DurationMs } from './time.ts';

/** Pauses between attempts at something that may stay broken: each is twice the last one, up to a maximum. */
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

  /** The pause after something that ran for this time: the shortest one again if it ran for `stableMs`. */
  nextAfter(ranMs: DurationMs, stableMs: DurationMs): number {
    if (ranMs >= stableMs) this.reset();
    return this.next();
  }

  /** It worked: after the next failure the pause is the shortest one again. */
  reset(): void {
    this.#nextMs = this.#firstMs;
  }
}
