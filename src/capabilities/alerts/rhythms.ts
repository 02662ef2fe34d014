/**
 * How often each device sends telemetry, learned from what arrives while it is connected: what comes on change only has no
 * rhythm, and nobody is told of its silence. By this run's own time, so that a step of the wall clock makes nobody silent;
 * what was learned is lengths of time alone, which earlier runs may hand on.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

type RhythmLimits = Pick<
  Limits['alerts'],
  'rhythmDayMs' | 'rhythmDays' | 'rhythmDaysMin' | 'rhythmPauseMs' | 'silentPauses' | 'silentAfterMs'
>;

interface Rhythm {
  /** When it was heard last, or came; undefined while it is away. */
  lastMs: MonotonicMs | undefined;
  dayFromMs: MonotonicMs;
  /** Of the day so far. */
  longestMs: DurationMs;
  isHeardToday: boolean;
  /** The longest pause of each of the last days on which it was heard. */
  readonly days: DurationMs[];
}

export class Rhythms {
  readonly #limits: RhythmLimits;
  readonly #ofDevice = new Map<string, Rhythm>();
  /** Devices whose pauses have changed since `noteKept`. */
  readonly #learned = new Set<string>();

  constructor(limits: RhythmLimits) {
    this.#limits = limits;
  }

  /** What an earlier run has learned. @param days the longest pause of each, the oldest first */
  resume(deviceId: string, days: readonly DurationMs[], nowMs: MonotonicMs): void {
    this.#ofDevice.set(deviceId, beginning(nowMs, days));
  }

  /** What is to be kept for the next run, by device; the same again until `noteKept`. */
  learned(): (readonly [deviceId: string, days: readonly DurationMs[]])[] {
    return [...this.#learned].map((deviceId) => [deviceId, this.#ofDevice.get(deviceId)?.days ?? []]);
  }

  noteKept(): void {
    this.#learned.clear();
  }

  /**
   * To be called every few seconds. @param heardAtMs when telemetry of the device arrived last
   * @returns for how long it has been silent, when that is longer than its rhythm lets expect
   */
  follow(
    deviceId: string,
    isOnline: boolean,
    heardAtMs: MonotonicMs | undefined,
    nowMs: MonotonicMs,
  ): DurationMs | undefined {
    const rhythm = this.#ofDevice.get(deviceId) ?? beginning(nowMs);
    this.#ofDevice.set(deviceId, rhythm);
    // The pause of a device that is away is no pause of its own.
    rhythm.lastMs = isOnline ? (rhythm.lastMs ?? nowMs) : undefined;
    if (rhythm.lastMs !== undefined && heardAtMs !== undefined && heardAtMs > rhythm.lastMs) {
      rhythm.longestMs = Math.max(rhythm.longestMs, heardAtMs - rhythm.lastMs);
      rhythm.lastMs = heardAtMs;
      rhythm.isHeardToday = true;
    }
    if (nowMs - rhythm.dayFromMs >= this.#limits.rhythmDayMs) this.#endDay(deviceId, rhythm, nowMs);
    if (rhythm.lastMs === undefined) return undefined;
    const silentMs = nowMs - rhythm.lastMs;
    return silentMs >= this.#silentAfterMs(rhythm) ? silentMs : undefined;
  }

  /** Whatever it sends from now on, it may send otherwise. */
  beginAnew(deviceId: string, nowMs: MonotonicMs): void {
    this.#ofDevice.set(deviceId, beginning(nowMs));
    this.#learned.add(deviceId);
  }

  forget(deviceId: string): void {
    this.#ofDevice.delete(deviceId);
    this.#learned.delete(deviceId);
  }

  #endDay(deviceId: string, rhythm: Rhythm, nowMs: MonotonicMs): void {
    if (rhythm.isHeardToday) {
      // One that goes on is a pause of today, too.
      const lastingMs = nowMs - (rhythm.lastMs ?? nowMs);
      rhythm.days.push(Math.round(Math.max(rhythm.longestMs, lastingMs)));
      if (rhythm.days.length > this.#limits.rhythmDays) rhythm.days.shift();
      this.#learned.add(deviceId);
    }
    rhythm.dayFromMs = nowMs;
    rhythm.longestMs = 0;
    rhythm.isHeardToday = false;
  }

  /** Infinite for one without a rhythm. A single day on which it failed teaches nothing. */
  #silentAfterMs({ days }: Rhythm): DurationMs {
    const { rhythmDaysMin, rhythmPauseMs, silentPauses, silentAfterMs } = this.#limits;
    const usualMs = days.toSorted((a, b) => a - b)[Math.floor(days.length / 2)];
    if (usualMs === undefined || days.length < rhythmDaysMin || usualMs > rhythmPauseMs) return Infinity;
    return Math.max(silentAfterMs, silentPauses * usualMs);
  }
}

const beginning = (nowMs: MonotonicMs, days: readonly DurationMs[] = []): Rhythm => ({
  lastMs: undefined,
  dayFromMs: nowMs,
  longestMs: 0,
  isHeardToday: false,
  days: [...days],
});
