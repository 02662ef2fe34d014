/** A clock that moves only when a test says so. Timers fire in order of their due time. */
import type { DurationMs, EpochMs, MonotonicMs } from '../../src/lib/time.ts';
import {
  type Clock,
  CLOCK_PLAUSIBLE_FROM_MS,
  ProvenTime,
  sleepOn,
  type Timer,
} from '../../src/platform/clock/index.ts';

interface Entry {
  dueMs: MonotonicMs;
  order: number;
  fn: () => void;
}

export class TestClock implements Clock {
  readonly proven = new ProvenTime(this);
  #wallMs: EpochMs;
  #monotonicMs: MonotonicMs = 1_000;
  #order = 0;
  readonly #entries = new Set<Entry>();
  readonly #stepped = new Set<(jumpMs: DurationMs) => void>();

  constructor(wallMs = Date.UTC(2026, 2, 1, 8)) {
    this.#wallMs = wallMs;
    this.proven.nowMs();
  }

  wallMs(): EpochMs {
    return this.#wallMs;
  }

  monotonicMs(): MonotonicMs {
    return this.#monotonicMs;
  }

  setTimer(durationMs: DurationMs, fn: () => void): Timer {
    const entry = { dueMs: this.#monotonicMs + durationMs, order: this.#order++, fn };
    this.#entries.add(entry);
    return { cancel: () => void this.#entries.delete(entry) };
  }

  setRepeating(intervalMs: DurationMs, fn: () => void): Timer {
    let timer: Timer;
    let cancelled = false;
    const arm = (): void => {
      timer = this.setTimer(intervalMs, () => {
        fn();
        if (!cancelled) arm();
      });
    };
    arm();
    return {
      cancel: () => {
        cancelled = true;
        timer.cancel();
      },
    };
  }

  sleep(durationMs: DurationMs, signal?: AbortSignal): Promise<void> {
    return sleepOn((fn) => this.setTimer(durationMs, fn), signal);
  }

  isSet(): boolean {
    return this.#wallMs >= CLOCK_PLAUSIBLE_FROM_MS;
  }

  onStepped(listener: (jumpMs: DurationMs) => void): () => void {
    this.#stepped.add(listener);
    return () => void this.#stepped.delete(listener);
  }

  /** Number of timers waiting; a leak shows here. */
  get waiting(): number {
    return this.#entries.size;
  }

  /** Moves both clocks forward, firing due timers one by one and letting promises settle in between. */
  async advance(durationMs: DurationMs): Promise<void> {
    const endMs = this.#monotonicMs + durationMs;
    for (;;) {
      const next = [...this.#entries]
        .filter((entry) => entry.dueMs <= endMs)
        .sort((a, b) => a.dueMs - b.dueMs || a.order - b.order)[0];
      if (!next) break;
      this.#entries.delete(next);
      this.#move(Math.max(0, next.dueMs - this.#monotonicMs));
      next.fn();
      await settle();
    }
    this.#move(endMs - this.#monotonicMs);
    await settle();
  }

  /** Moves on to the timer that is due next, which must be there. */
  async advanceToNext(): Promise<void> {
    if (this.#entries.size === 0) throw new Error('no timer waits');
    const dueMs = Math.min(...[...this.#entries].map((entry) => entry.dueMs));
    await this.advance(Math.max(0, dueMs - this.#monotonicMs));
  }

  /** Time goes by without a timer firing, as while something is computed. */
  spend(durationMs: DurationMs): void {
    this.#move(durationMs);
  }

  /** The wall clock jumps (time was set); monotonic time does not. */
  step(jumpMs: DurationMs): void {
    this.#wallMs += jumpMs;
    this.proven.nowMs();
    for (const listener of this.#stepped) listener(jumpMs);
  }

  #move(durationMs: DurationMs): void {
    this.#monotonicMs += durationMs;
    this.#wallMs += durationMs;
  }
}

/** Lets everything that is ready run: promises, then one turn of the event loop. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
