/** Time of a script that goes through a past period: it moves only when it is told to. */
import type { DurationMs, EpochMs, MonotonicMs } from '../../../lib/time.ts';
import { type Clock, ProvenTime, repeatOn, sleepOn, type Timer } from '../../../platform/clock/index.ts';

interface Alarm {
  dueMs: EpochMs;
  fn: () => void;
}

export class VirtualClock implements Clock {
  readonly #startMs: EpochMs;
  readonly proven = new ProvenTime(this);
  /** In the order in which they were set, which is the order of those due at one instant. */
  readonly #alarms = new Set<Alarm>();
  #nowMs: EpochMs;

  constructor(startMs: EpochMs) {
    this.#startMs = startMs;
    this.#nowMs = startMs;
  }

  wallMs(): EpochMs {
    return this.#nowMs;
  }

  monotonicMs(): MonotonicMs {
    return this.#nowMs - this.#startMs;
  }

  setTimer(durationMs: DurationMs, fn: () => void): Timer {
    const alarm = { dueMs: this.#nowMs + Math.max(0, durationMs), fn };
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  setRepeating(intervalMs: DurationMs, fn: () => void): Timer {
    return repeatOn((fire) => this.setTimer(intervalMs, fire), fn);
  }

  sleep(durationMs: DurationMs, signal?: AbortSignal): Promise<void> {
    return sleepOn((fn) => this.setTimer(durationMs, fn), signal);
  }

  isSet(): boolean {
    return true;
  }

  onStepped(): () => void {
    return () => undefined;
  }

  /** When the next timer is due; infinite without one. */
  nextDueMs(): EpochMs {
    return this.#next()?.dueMs ?? Number.POSITIVE_INFINITY;
  }

  moveTo(atMs: EpochMs): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }

  /** Moves to the next timer and fires it. */
  fireNext(): void {
    const next = this.#next();
    if (!next) return;
    this.#alarms.delete(next);
    this.moveTo(next.dueMs);
    next.fn();
  }

  #next(): Alarm | undefined {
    let next: Alarm | undefined;
    for (const alarm of this.#alarms) if (!next || alarm.dueMs < next.dueMs) next = alarm;
    return next;
  }
}
