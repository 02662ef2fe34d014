/**
 * How long a message that arrives now may have waited unread: a program stands still while its machine is paused or out of
 * memory, and a command that came meanwhile must not pass for a new one.
 */
import type { DurationMs, MonotonicMs } from '../lib/time.ts';
import type { Clock } from '../platform/clock/index.ts';

/** G: a beat later than this means that the program stood still. */
const LATE_MS = 1_000;
/** G: within this time everything that waited in the socket is read. */
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

  /** To be called at least every `intervalMs`. */
  beat(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isLate(nowMs)) this.#last = { sinceMs: this.#beatAtMs, readAtMs: nowMs + READING_MS };
    this.#beatAtMs = nowMs;
  }

  /** The longest possible wait; 0 while the program runs without a pause. */
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
