/**
 * How long what arrives now may have waited unread: a program stands still when its machine is paused or has no memory
 * left, and a command that came meanwhile must not pass for a new one.
 */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';

/** G: a beat that is later is late because the program stood still. */
const LATE_MS = 1_000;
/** G: what waited in the socket is read by then. */
const READING_MS = 2_000;

export class Standstill {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #intervalMs: DurationMs;
  #beatAtMs: MonotonicMs;
  #last: { sinceMs: MonotonicMs; readAtMs: MonotonicMs } | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>, intervalMs: DurationMs) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#beatAtMs = clock.monotonicMs();
  }

  /** Every `intervalMs` at least. */
  beat(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isLate(nowMs)) this.#last = { sinceMs: this.#beatAtMs, readAtMs: nowMs + READING_MS };
    this.#beatAtMs = nowMs;
  }

  /** At most so long; 0 as long as the program goes on. */
  get waitedMs(): DurationMs {
    const nowMs = this.#clock.monotonicMs();
    const isBeingRead = this.#last !== undefined && nowMs < this.#last.readAtMs;
    if (isBeingRead) return nowMs - (this.#last?.sinceMs ?? nowMs);
    return this.#isLate(nowMs) ? nowMs - this.#beatAtMs : 0;
  }

  #isLate(nowMs: MonotonicMs): boolean {
    return nowMs - this.#beatAtMs > this.#intervalMs + LATE_MS;
  }
}
