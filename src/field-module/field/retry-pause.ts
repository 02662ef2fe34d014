/** Growing pauses between attempts to open something that may never come back; times are monotonic. */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

export class RetryPause {
  readonly #pause: DoublingPause;
  #untilMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  /** Doubles from `reconnectFirstMs` to `reconnectMaxMs`. */
  constructor(limits: { readonly reconnectFirstMs: DurationMs; readonly reconnectMaxMs: DurationMs }) {
    this.#pause = new DoublingPause({ firstMs: limits.reconnectFirstMs, maxMs: limits.reconnectMaxMs });
  }

  /** An attempt failed; the next one may be made after the pause. */
  failed(nowMs: MonotonicMs): void {
    this.#untilMs = nowMs + this.#pause.next();
  }

  /** It works: the next failure begins with the shortest pause again. */
  succeeded(): void {
    this.#pause.reset();
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }

  /** True while no attempt may be made. */
  isResting(nowMs: MonotonicMs): boolean {
    return nowMs < this.#untilMs;
  }
}
