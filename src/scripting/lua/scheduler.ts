import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { ScriptClock } from './machine.ts';

/** Work that gets slices. */
export interface Runnable {
  /** Whether it has something to do. */
  readonly isReady: boolean;
  slice(): void;
}

/** A runnable that the scheduler knows. */
export interface ScheduledTask {
  /** To be called when the runnable has work again. */
  wake(): void;
  /** No further slices. */
  leave(): void;
  /** Processor time so far. */
  readonly processorMs: DurationMs;
}

interface SchedulerOptions {
  clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>;
  /** Lets the event loop run. */
  nextTurn: () => Promise<void>;
  limits: Pick<Limits['lua'], 'sliceMs' | 'turnMs' | 'processorPermille' | 'processorBurstMs'>;
  /** Called before and after each slice. */
  onSlice?: (runnable: Runnable, isRunning: boolean) => void;
}

interface Entry extends ScheduledTask {
  runnable: Runnable;
  isQueued: boolean;
  hasLeft: boolean;
  processorMs: DurationMs;
  /** Processor time above the share, as of `levelAtMs`. */
  levelMs: DurationMs;
  levelAtMs: MonotonicMs;
  onPaused: (durationMs: DurationMs) => void;
}

/**
 * Shares a thread among runnables: each with work gets a slice in turn, and the event loop runs between rounds. One
 * that takes more than its share of the processor in the long run is made to pause.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #queue: Entry[] = [];
  /** Those that used up a slice; one of them has a turn in every round, after all others. */
  readonly #long: Entry[] = [];
  #isRunning = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  /** `onPaused`: the runnable is over its share and pauses for this long. */
  add(runnable: Runnable, onPaused: (durationMs: DurationMs) => void): ScheduledTask {
    const entry: Entry = {
      runnable,
      isQueued: false,
      hasLeft: false,
      processorMs: 0,
      levelMs: 0,
      levelAtMs: this.#options.clock.monotonicMs(),
      onPaused,
      wake: () => this.#enqueue(entry),
      leave: () => (entry.hasLeft = true),
    };
    return entry;
  }

  #enqueue(entry: Entry): void {
    if (entry.isQueued || entry.hasLeft) return;
    entry.isQueued = true;
    this.#queue.push(entry);
    if (this.#isRunning) return;
    this.#isRunning = true;
    // The caller of `wake` finishes first.
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    const { clock, limits, nextTurn } = this.#options;
    while (this.#queue.length > 0 || this.#long.length > 0) {
      const roundEndMs = clock.monotonicMs() + limits.sliceMs;
      do {
        const entry = this.#queue.shift();
        if (entry) this.#slice(entry);
      } while (this.#queue.length > 0 && clock.monotonicMs() < roundEndMs);
      const long = this.#long.shift();
      if (long) this.#slice(long);
      await nextTurn();
    }
    this.#isRunning = false;
  }

  #slice(entry: Entry): void {
    const { clock, limits, onSlice } = this.#options;
    const startedMs = clock.monotonicMs();
    // It counts as queued meanwhile; whether it continues is decided below.
    if (!entry.hasLeft && entry.runnable.isReady) {
      onSlice?.(entry.runnable, true);
      entry.runnable.slice();
      onSlice?.(entry.runnable, false);
    }
    const endedMs = clock.monotonicMs();
    // No script runs longer than that: the rest of the time the machine stood still.
    const usedMs = Math.min(endedMs - startedMs, limits.turnMs);
    entry.processorMs += usedMs;
    const pauseMs = this.#account(entry, usedMs, endedMs);
    entry.isQueued = !entry.hasLeft && entry.runnable.isReady;
    if (!entry.isQueued) return;
    if (pauseMs === 0) {
      const isLong = usedMs >= limits.sliceMs;
      (isLong ? this.#long : this.#queue).push(entry);
      return;
    }
    entry.onPaused(pauseMs);
    clock.setTimer(pauseMs, () => {
      entry.isQueued = false;
      this.#enqueue(entry);
    });
  }

  /** A leaky bucket of processor time. Returns how long the runnable has to pause. */
  #account(entry: Entry, usedMs: DurationMs, nowMs: MonotonicMs): number {
    const { processorPermille, processorBurstMs } = this.#options.limits;
    const share = processorPermille / 1_000;
    const leakedMs = (nowMs - entry.levelAtMs) * share;
    entry.levelMs = Math.max(0, entry.levelMs - leakedMs) + usedMs;
    entry.levelAtMs = nowMs;
    const excessMs = entry.levelMs - processorBurstMs;
    return excessMs <= 0 ? 0 : Math.ceil(excessMs / share);
  }
}
