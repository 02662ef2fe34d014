/**
 * Shares a thread among machines: each that has work gets a slice in turn, and between rounds the event loop
 * goes on. A machine that takes more than its share of the processor in the long run is made to pause.
 */
import type { Limits } from '../lib/limits.ts';
import type { ScriptClock } from './machine.ts';

export interface Turns {
  readonly isReady: boolean;
  slice(): void;
}

export interface Seat {
  /** The machine has work. */
  wake(): void;
  /** No further slices. */
  leave(): void;
  /** Processor time so far. */
  readonly processorMs: number;
}

export interface RotaOptions {
  clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>;
  /** Lets the event loop have its turn. */
  nextTurn: () => Promise<void>;
  limits: Pick<Limits['lua'], 'sliceMs' | 'processorPermille' | 'processorBurstMs'>;
  /** Told before and after each slice, for whoever watches from outside. */
  onSlice?: (seat: number, isRunning: boolean, machine: Turns) => void;
}

interface Place extends Seat {
  /** In the order of taking seats, from 1. */
  number: number;
  machine: Turns;
  isQueued: boolean;
  hasLeft: boolean;
  processorMs: number;
  /** Processor time above the share, as of `levelAtMs`. */
  levelMs: number;
  levelAtMs: number;
  onPaused: (durationMs: number) => void;
}

export class Rota {
  readonly #options: RotaOptions;
  readonly #queue: Place[] = [];
  /** Those that used up a slice; one of them has a turn in every round, after all others. */
  readonly #long: Place[] = [];
  #isRunning = false;
  #seats = 0;

  constructor(options: RotaOptions) {
    this.#options = options;
  }

  /** `onPaused`: the machine is over its share and pauses for so long. */
  seat(machine: Turns, onPaused: (durationMs: number) => void): Seat {
    const place: Place = {
      number: ++this.#seats,
      machine,
      isQueued: false,
      hasLeft: false,
      processorMs: 0,
      levelMs: 0,
      levelAtMs: this.#options.clock.monotonicMs(),
      onPaused,
      wake: () => this.#enqueue(place),
      leave: () => (place.hasLeft = true),
    };
    return place;
  }

  #enqueue(place: Place): void {
    if (place.isQueued || place.hasLeft) return;
    place.isQueued = true;
    this.#queue.push(place);
    if (this.#isRunning) return;
    this.#isRunning = true;
    // Whoever woke the machine finishes first.
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    const { clock, limits, nextTurn } = this.#options;
    while (this.#queue.length > 0 || this.#long.length > 0) {
      const roundEndMs = clock.monotonicMs() + limits.sliceMs;
      do {
        const place = this.#queue.shift();
        if (place) this.#slice(place);
      } while (this.#queue.length > 0 && clock.monotonicMs() < roundEndMs);
      const long = this.#long.shift();
      if (long) this.#slice(long);
      await nextTurn();
    }
    this.#isRunning = false;
  }

  #slice(place: Place): void {
    const { clock, limits, onSlice } = this.#options;
    const startedMs = clock.monotonicMs();
    // It counts as queued meanwhile: whether it goes on is decided below.
    if (!place.hasLeft && place.machine.isReady) {
      onSlice?.(place.number, true, place.machine);
      place.machine.slice();
      onSlice?.(place.number, false, place.machine);
    }
    const endedMs = clock.monotonicMs();
    place.processorMs += endedMs - startedMs;
    const pauseMs = this.#account(place, endedMs - startedMs, endedMs);
    place.isQueued = !place.hasLeft && place.machine.isReady;
    if (!place.isQueued) return;
    if (pauseMs === 0) {
      const isLong = endedMs - startedMs >= limits.sliceMs;
      (isLong ? this.#long : this.#queue).push(place);
      return;
    }
    place.onPaused(pauseMs);
    clock.setTimer(pauseMs, () => {
      place.isQueued = false;
      this.#enqueue(place);
    });
  }

  /** A leaky bucket of processor time; how long the machine has to pause. */
  #account(place: Place, usedMs: number, nowMs: number): number {
    const { processorPermille, processorBurstMs } = this.#options.limits;
    const share = processorPermille / 1_000;
    const leakedMs = (nowMs - place.levelAtMs) * share;
    place.levelMs = Math.max(0, place.levelMs - leakedMs) + usedMs;
    place.levelAtMs = nowMs;
    const excessMs = place.levelMs - processorBurstMs;
    return excessMs <= 0 ? 0 : Math.ceil(excessMs / share);
  }
}
