/**
 * Time of a simulation: it advances only on request, second by second or in strides. In a stride every timer fires once
 * at most, as on a box that was asleep, so that a quiet hour costs no more than its events.
 */
import {
  type Clock,
  CLOCK_PLAUSIBLE_FROM_MS,
  ProvenTime,
  sleepOn,
  type Timer,
} from '../../../src/platform/clock/index.ts';

interface Entry {
  dueMs: number;
  order: number;
  fn: () => void;
}

export class SimulationClock implements Clock {
  /** As a process that has just been started has it. */
  proven: ProvenTime;
  #trueMs: number;
  #offsetMs = 0;
  #monotonicMs = 1_000;
  #order = 0;
  readonly #entries = new Set<Entry>();
  readonly #stepped = new Set<(jumpMs: number) => void>();

  constructor(trueMs: number) {
    this.#trueMs = trueMs;
    this.proven = new ProvenTime(this);
  }

  /** What an atomic clock beside the box would show. */
  get trueMs(): number {
    return this.#trueMs;
  }

  /** By how much the box is ahead of it. */
  get offsetMs(): number {
    return this.#offsetMs;
  }

  /** Timers that wait. */
  get waiting(): number {
    return this.#entries.size;
  }

  wallMs(): number {
    return this.#trueMs + this.#offsetMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  isSet(): boolean {
    return this.wallMs() >= CLOCK_PLAUSIBLE_FROM_MS;
  }

  setTimer(durationMs: number, fn: () => void): Timer {
    const entry = { dueMs: this.#monotonicMs + durationMs, order: this.#order++, fn };
    this.#entries.add(entry);
    return { cancel: () => void this.#entries.delete(entry) };
  }

  setRepeating(intervalMs: number, fn: () => void): Timer {
    let isCancelled = false;
    const fire = (): void => {
      fn();
      if (!isCancelled) timer = this.setTimer(intervalMs, fire);
    };
    let timer = this.setTimer(intervalMs, fire);
    return {
      cancel: () => {
        isCancelled = true;
        timer.cancel();
      },
    };
  }

  sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    return sleepOn((fn) => this.setTimer(durationMs, fn), signal);
  }

  onStepped(listener: (jumpMs: number) => void): () => void {
    this.#stepped.add(listener);
    return () => void this.#stepped.delete(listener);
  }

  /** Goes on by so much, firing what is due in its order. */
  async advance(durationMs: number): Promise<void> {
    const endMs = this.#monotonicMs + durationMs;
    for (let next = this.#firstUntil(endMs); next; next = this.#firstUntil(endMs)) {
      this.#move(Math.max(0, next.dueMs - this.#monotonicMs));
      await this.#fire(next);
    }
    this.#move(endMs - this.#monotonicMs);
    await turn();
  }

  /** Goes on by so much at once; what was due meanwhile fires at its end, each once. */
  async stride(durationMs: number): Promise<void> {
    this.#move(durationMs);
    const due = [...this.#entries].filter(({ dueMs }) => dueMs <= this.#monotonicMs);
    for (const entry of due.toSorted((a, b) => a.dueMs - b.dueMs || a.order - b.order))
      if (this.#entries.has(entry)) await this.#fire(entry);
    await turn();
  }

  /** The wall clock is set; the box notices. */
  setOffset(offsetMs: number): void {
    const jumpMs = offsetMs - this.#offsetMs;
    this.#offsetMs = offsetMs;
    if (jumpMs !== 0) for (const listener of this.#stepped) listener(jumpMs);
  }

  /** The box was switched off: whoever starts next finds this offset and knows nothing of before. */
  boot(offsetMs: number): void {
    this.#offsetMs = offsetMs;
    this.proven = new ProvenTime(this);
  }

  #firstUntil(endMs: number): Entry | undefined {
    let first: Entry | undefined;
    for (const entry of this.#entries)
      if (
        entry.dueMs <= endMs &&
        (!first || entry.dueMs < first.dueMs || (entry.dueMs === first.dueMs && entry.order < first.order))
      )
        first = entry;
    return first;
  }

  async #fire(entry: Entry): Promise<void> {
    this.#entries.delete(entry);
    entry.fn();
    await turn();
  }

  #move(durationMs: number): void {
    this.#monotonicMs += durationMs;
    this.#trueMs += durationMs;
  }
}

/** Lets everything that is ready run. */
export function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
