/**
 * How often each device sends telemetry, learned while it is connected. A device that sends only on change has no rhythm, and
 * its silence raises no alert. Times are monotonic, so that steps of the wall clock make no device silent; only durations are
 * learned, so that a later run can use them.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

type RhythmLimits = Pick<
  Limits['alerts'],
  'rhythmDayMs' | 'rhythmDays' | 'rhythmDaysMin' | 'rhythmPauseMs' | 'silentPauses' | 'silentAfterMs'
>;

interface Rhythm {
  /** When it last sent data or came online; undefined while it is offline. */
  lastMs: MonotonicMs | undefined;
  dayFromMs: MonotonicMs;
  /** Longest pause of the day so far. */
  longestMs: DurationMs;
  isHeardToday: boolean;
  /** The longest pause of each of the last days on which it sent data. */
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

  /** Takes over what an earlier run has learned. @param days the longest pause of each day, the oldest first */
  resume(deviceId: string, days: readonly DurationMs[], nowMs: MonotonicMs): void {
    this.#ofDevice.set(deviceId, beginning(nowMs, days));
  }

  /** Pauses to store for the next run, by device; the same again until `noteKept`. */
  learned(): (readonly [deviceId: string, days: readonly DurationMs[]])[] {
    return [...this.#learned].map((deviceId) => [deviceId, this.#ofDevice.get(deviceId)?.days ?? []]);
  }

  noteKept(): void {
    this.#learned.clear();
  }

  /**
   * To be called every few seconds. @param heardAtMs when telemetry of the device arrived last
   * @returns how long the device has been silent, if that is longer than its rhythm
   */
  follow(
    deviceId: string,
    isOnline: boolean,
    heardAtMs: MonotonicMs | undefined,
    nowMs: MonotonicMs,
  ): DurationMs | undefined {
    const rhythm = this.#ofDevice.getOrInsertComputed(deviceId, () => beginning(nowMs));
    // An absence does not count as a pause.
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

  /** Forgets the rhythm of a device that has another blueprint now. */
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
      // A pause that is not over counts for today, too.
      const lastingMs = nowMs - (rhythm.lastMs ?? nowMs);
      rhythm.days.push(Math.round(Math.max(rhythm.longestMs, lastingMs)));
      if (rhythm.days.length > this.#limits.rhythmDays) rhythm.days.shift();
      this.#learned.add(deviceId);
    }
    rhythm.dayFromMs = nowMs;
    rhythm.longestMs = 0;
    rhythm.isHeardToday = false;
  }

  /** Infinite without a rhythm. The median ignores a single day on which the device failed. */
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
