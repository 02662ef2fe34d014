/** Texts that were logged lately, for what fails again and again. */
import { createHash } from 'node:crypto';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

/**
 * The same text is logged again only after a while. A bounded number of texts is remembered, a few bytes of each,
 * however long they are and however many a script makes.
 */
export class RepeatFilter {
  readonly #intervalMs: DurationMs;
  readonly #most: number;
  /** When a text may be logged again, by its digest; the oldest comes first. */
  readonly #untilMs = new Map<string, number>();

  constructor(limits: { intervalMs: DurationMs; most: number }) {
    this.#intervalMs = limits.intervalMs;
    this.#most = limits.most;
  }

  /** Whether the text is to be logged now. @param nowMs monotonic */
  isNews(text: string, nowMs: MonotonicMs): boolean {
    const digest = createHash('sha1').update(text).digest('base64');
    for (const [oldest, untilMs] of this.#untilMs) {
      if (untilMs > nowMs && (this.#untilMs.size < this.#most || this.#untilMs.has(digest))) break;
      this.#untilMs.delete(oldest);
    }
    if (this.#untilMs.has(digest)) return false;
    this.#untilMs.set(digest, nowMs + this.#intervalMs);
    return true;
  }
}
