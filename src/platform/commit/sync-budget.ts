/** Limits the syncs of a flash card, and so decides how long a write waits for others to share a sync. */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';

/**
 * Waits are short while few syncs were spent lately, else most of the longest window, whose rest is for the sync itself.
 * Pauses win short windows back: under steady traffic short windows would mean more syncs, but where messages pause a
 * long window saves none.
 *
 * A caller that sends on only after its acknowledgement gets it quickly, from a second budget that fills with time. Its
 * rate bounds the cost of steady traffic, and every sync takes from it, so that the average stays the same.
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

  /** How long the first request of a batch waits for others. */
  waitMs({ isAwaited, isExpedited }: { isAwaited: boolean; isExpedited: boolean }): DurationMs {
    const { windowMinMs, windowMaxMs, syncAllowanceMs, quickWindowMs } = this.#limits;
    if (isExpedited && this.hasQuick()) return quickWindowMs;
    return isAwaited && this.#shortWindows >= 1 ? windowMinMs : windowMaxMs - syncAllowanceMs;
  }

  /** Whether the budget allows a quick sync now. */
  hasQuick(): boolean {
    this.#fill();
    return this.#quickSyncs >= 1;
  }

  spend(): void {
    // After a long window no short one is spent: the part of one that was won back stays.
    if (this.#shortWindows >= 1) this.#shortWindows--;
    this.#fill();
    // A little debt, because other syncs count even when the budget is empty.
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
