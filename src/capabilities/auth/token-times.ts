/**
 * Times of tokens follow the clock. If the clock is put back and later forward again, tokens that were moved back with it, or
 * made in between, move forward with it, so that no token loses time. state.db keeps by how much, because the box may lose
 * its power in between.
 */
import type { DurationMs } from '../../lib/time.ts';
import { correctStamp, type StampCorrection } from '../../platform/clock/index.ts';
import type { AuthParts } from './parts.ts';

export class TokenTimes {
  readonly #options: Pick<AuthParts, 'clock' | 'database' | 'limits' | 'store'>;
  /** Within the transaction that moved tokens. */
  readonly #onMoved: () => void;
  /** Steps of the clock that are not stored yet. */
  #steps: DurationMs[] = [];

  constructor(options: Pick<AuthParts, 'clock' | 'database' | 'limits' | 'store'>, onMoved: () => void) {
    this.#options = options;
    this.#onMoved = onMoved;
  }

  /** By how much the clock is still behind after it was put back. */
  get behindMs(): DurationMs {
    return this.#options.store.behind.get()?.behindMs ?? 0;
  }

  /** Tokens made before the clock was set get the true time of their creation, and expire by it. */
  restamp(correction: StampCorrection): void {
    const { database, store } = this.#options;
    database.transaction(() => {
      for (const { id, createdAtMs } of store.tokens.all()) {
        const byMs = Math.round(correctStamp(createdAtMs, correction) - createdAtMs);
        if (byMs !== 0) store.tokens.shift(id, byMs);
      }
      this.#onMoved();
    });
  }

  /**
   * Follows a clock that may have gone ahead while nobody looked: the box was off, or the clock not set. Time that passed
   * meanwhile counts as such a step, too.
   */
  resume(): void {
    const { clock, store } = this.#options;
    const known = store.behind.get();
    if (known && clock.isSet()) this.follow(Math.max(0, clock.wallMs() - known.knownAtMs));
  }

  /** Follows a step of a clock that was set before, too. */
  follow(stepMs: DurationMs): void {
    this.#steps.push(Math.round(stepMs));
    this.settle();
  }

  /** Stores steps that the disk did not take before, and now and then what the clock shows. */
  settle(): void {
    const { clock, database, limits, store } = this.#options;
    const known = store.behind.get();
    const nowMs = Math.round(clock.wallMs());
    const isRecent = known === undefined || Math.abs(nowMs - known.knownAtMs) < limits.lastUseIntervalMs;
    if (this.#steps.length === 0 && isRecent) return;
    database.transaction(() => {
      let behindMs = known?.behindMs ?? 0;
      for (const stepMs of this.#steps) {
        if (stepMs > 0 && behindMs > 0) store.tokens.goAhead(stepMs);
        behindMs = Math.max(0, behindMs - stepMs);
      }
      store.behind.put(behindMs, nowMs);
      this.#onMoved();
    });
    this.#steps = [];
  }
}
