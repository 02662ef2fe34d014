import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';

/** 2026-01-01: a wall clock before this was never set. */
export const CLOCK_PLAUSIBLE_FROM_MS = Date.UTC(2026, 0, 1);

/** Readings of a clock; the names are those of `Clock`. */
interface ClockReadings {
  wallMs(): EpochMs;
  monotonicMs(): MonotonicMs;
  isSet(): boolean;
}

/** Stamps from `fromMs` up to `beforeMs`: those of a clock that was never set say nothing about an age. */
export interface StampRange {
  fromMs: EpochMs;
  beforeMs: EpochMs;
}

/**
 * A lower bound of the true time, for whatever must not happen too early: deleting for age. The wall clock of a
 * box may start hours or years ahead and stay there, so it counts only when it shows less; otherwise time
 * passes here exactly as fast as this program runs. Hence two promises, whatever the wall clock does:
 *
 *   - it never advances by more than the monotonic time that has passed, over restarts too, and
 *   - it is never later than any stamp that is given from now on.
 *
 * So what is stamped `s` is at least `nowMs() - s` old. The price: the time the box was off counts for no age.
 */
export class ProvenTime {
  readonly #clock: ClockReadings;
  #provenMs: EpochMs | undefined;
  #atMonotonicMs: MonotonicMs = 0;

  constructor(clock: ClockReadings) {
    this.#clock = clock;
  }

  /** Undefined while nothing is known: the clock was never set, nor is there an earlier run. */
  nowMs(): EpochMs | undefined {
    const monotonicMs = this.#clock.monotonicMs();
    const wallMs = this.#clock.isSet() ? this.#clock.wallMs() : undefined;
    const elapsedMs = monotonicMs - this.#atMonotonicMs;
    this.#atMonotonicMs = monotonicMs;
    if (this.#provenMs === undefined) this.#provenMs = wallMs;
    else this.#provenMs = Math.min(this.#provenMs + elapsedMs, wallMs ?? Number.POSITIVE_INFINITY);
    return this.#provenMs;
  }

  /** Stamps that are surely older than `lifetimeMs`; undefined while nothing can be said. */
  olderThan(lifetimeMs: DurationMs): StampRange | undefined {
    const nowMs = this.nowMs();
    if (nowMs === undefined) return undefined;
    return { fromMs: CLOCK_PLAUSIBLE_FROM_MS, beforeMs: Math.floor(nowMs - lifetimeMs) };
  }

  /** Goes on from what an earlier run had proven. */
  resume(provenMs: EpochMs): void {
    this.#provenMs = provenMs;
    this.#atMonotonicMs = this.#clock.monotonicMs();
    this.nowMs();
  }
}

/** A box is rarely off for so long; a clock that is further ahead of what earlier runs knew is probably wrong. */
const AHEAD_OF_PROVEN_MS = 5 * 365 * 86_400_000;
/** On a first start nothing is known, but no program runs for so long without an update. */
const AHEAD_OF_RELEASE_MS = 10 * 365 * 86_400_000;

/** Whether the wall clock is years ahead of everything that is known, as after a boot with a wrong clock chip. */
export function isFarAhead(clock: ClockReadings & { readonly proven: ProvenTime }): boolean {
  if (!clock.isSet()) return false;
  const wallMs = clock.wallMs();
  const provenMs = clock.proven.nowMs() ?? wallMs;
  return wallMs - provenMs > AHEAD_OF_PROVEN_MS || wallMs > CLOCK_PLAUSIBLE_FROM_MS + AHEAD_OF_RELEASE_MS;
}
