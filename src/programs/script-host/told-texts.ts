/** Texts that were said lately, for what fails again and again. */
import { createHash } from 'node:crypto';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

/**
 * The same text is said again only after a while. Of a script that makes ever new ones so many are remembered, and of
 * each, however long it is, a few bytes.
 */
export class ToldTexts {
  readonly #intervalMs: DurationMs;
  readonly #most: number;
  /** When it may be said again, by digest; the one that was said first comes first. */
  readonly #untilMs = new Map<string, number>();

  constructor(limits: { intervalMs: DurationMs; most: number }) {
    this.#intervalMs = limits.intervalMs;
    this.#most = limits.most;
  }

  /** Whether it is to be said now. @param nowMs monotonic */
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
