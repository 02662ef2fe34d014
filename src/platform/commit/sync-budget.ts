/** How many syncs the flash card is asked for, and so how long a write waits for others to share one. */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';

/**
 * Waits are short while few syncs were spent lately, else most of the longest window, leaving the rest for the
 * sync itself. Pauses win syncs back: where messages leave none, more syncs would come with short windows; where
 * they do, a long window saves nothing, and would keep one device waiting at exactly the rate it is won back.
 *
 * Who sends on only after his acknowledgement gets it quickly, from a store of syncs of its own that fills with the
 * time: its rate is what steady traffic may cost at worst, and every sync of whatever reason takes from it, so that
 * the average stays where it was.
 */
export class SyncBudget {
  readonly #clock: Clock;
  readonly #limits: Limits['commits'];
  #shortWindows: number;
  #pausedAtMs: MonotonicMs | undefined;
  #quickSyncs: number;
  #filledMs: MonotonicMs;

  constructor(clock: Clock, limits: Limits['commits']) {
    this.#clock = clock;
    this.#limits = limits;
    this.#shortWindows = limits.shortWindows;
    this.#quickSyncs = limits.quickSyncs;
    this.#filledMs = clock.monotonicMs();
  }

  /** How long a first request may wait, of those that somebody waits for, or sends nothing before. */
  waitMs({ isAwaited, isExpedited }: { isAwaited: boolean; isExpedited: boolean }): DurationMs {
    const { windowMinMs, windowMaxMs, syncAllowanceMs, quickWindowMs } = this.#limits;
    if (isExpedited && this.hasQuick()) return quickWindowMs;
    return isAwaited && this.#shortWindows >= 1 ? windowMinMs : windowMaxMs - syncAllowanceMs;
  }

  /** Whether one who waits may be served at once. */
  hasQuick(): boolean {
    this.#fill();
    return this.#quickSyncs >= 1;
  }

  spend(): void {
    // Who waited the long window has paid for it: a part that was won back stays.
    if (this.#shortWindows >= 1) this.#shortWindows--;
    this.#fill();
    // A little debt: syncs that others spend while there is none of these count too.
    this.#quickSyncs = Math.max(-this.#limits.shortWindows, this.#quickSyncs - 1);
  }

  /** Nobody waits from now on. */
  pauseBegins(): void {
    this.#pausedAtMs ??= this.#clock.monotonicMs();
  }

  pauseEnds(): void {
    const { shortWindows, shortWindowPauseMs } = this.#limits;
    const pausedMs = this.#clock.monotonicMs() - (this.#pausedAtMs ?? this.#clock.monotonicMs());
    this.#pausedAtMs = undefined;
    this.#shortWindows = Math.min(shortWindows, this.#shortWindows + pausedMs / shortWindowPauseMs);
  }

  #fill(): void {
    const { quickSyncs, quickSyncsPerSecond } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const wonBack = ((nowMs - this.#filledMs) * quickSyncsPerSecond) / 1_000;
    this.#quickSyncs = Math.min(quickSyncs, this.#quickSyncs + wonBack);
    this.#filledMs = nowMs;
  }
}
