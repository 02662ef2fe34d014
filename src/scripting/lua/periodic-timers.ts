/**
 * Timers of what comes again and again, in one thread: those that are due within a fiftieth of their period of each other
 * fire at the same moment, so that they wake the thread, and ask the gateway, together. None fires early.
 */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { ScriptClock } from './machine.ts';

/** Distances of moments; each divides the larger ones, so that short periods share the moments of long ones. */
const GRIDS_MS = [20, 10, 5, 1] as const;

interface Timer {
  cancel(): void;
}

interface Moment {
  due: Set<() => void>;
  timer: Timer;
}

export class PeriodicTimers {
  readonly #clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>;
  readonly #slackPermille: number;
  readonly #moments = new Map<MonotonicMs, Moment>();

  /** `slackPermille`: so much of its period a timer may be late. */
  constructor(clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>, slackPermille: number) {
    this.#clock = clock;
    this.#slackPermille = slackPermille;
  }

  /** Runs `fn` once at `dueMs` or, by the slack, later. */
  set(dueMs: MonotonicMs, periodMs: DurationMs, fn: () => void): Timer {
    const slackMs = (periodMs * this.#slackPermille) / 1_000;
    const gridMs = GRIDS_MS.find((distanceMs) => distanceMs <= slackMs);
    if (gridMs === undefined) return this.#clock.setTimer(dueMs - this.#clock.monotonicMs(), fn);
    const atMs = Math.ceil(dueMs / gridMs) * gridMs;
    const moment = this.#moments.get(atMs) ?? this.#begin(atMs);
    // Each is one of its own, also when it is the same function.
    const fire = (): void => fn();
    moment.due.add(fire);
    return {
      cancel: () => {
        if (!moment.due.delete(fire) || moment.due.size > 0) return;
        moment.timer.cancel();
        if (this.#moments.get(atMs) === moment) this.#moments.delete(atMs);
      },
    };
  }

  #begin(atMs: MonotonicMs): Moment {
    const due = new Set<() => void>();
    const timer = this.#clock.setTimer(Math.ceil(atMs - this.#clock.monotonicMs()), () => {
      this.#moments.delete(atMs);
      for (const fire of due) fire();
    });
    const moment = { due, timer };
    this.#moments.set(atMs, moment);
    return moment;
  }
}
