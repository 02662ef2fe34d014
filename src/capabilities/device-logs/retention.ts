/**
 * Deletes entries that are too old, too many, too large together, or of devices that are gone, in batches of bounded
 * size and time; and gives a time to entries that were stamped before the clock was set. Source:
 * docs/interface/http.md#device-logs: persistent 90 days or 50 000 per device, ephemeral 24 hours or 5 000.
 */
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop } from '../../platform/retention/index.ts';
import type { SqlDatabase } from '../../platform/sqlite/index.ts';
import type { Devices } from '../devices/index.ts';
import type { LogEntry } from './model.ts';
import type { DeviceLogStore, LogDevice } from './store.ts';

const HOUR_MS = 3_600_000;
/** Entries deleted before the sizes are compared again. */
const ROWS_PER_STEP = 20;
/** Share of the room that is freed at once, and that new entries may take before the sizes are compared again. */
const LOG_STEP = LIMITS.history.logStepPercent / 100;

interface LogRetentionOptions extends Instruments {
  history: SqlDatabase;
  store: DeviceLogStore;
  devices: Pick<Devices, 'get' | 'mayForget'>;
  limits: Limits['deviceLogs'];
  /** Largest size of all entries on the disk. */
  sizeMaxBytes: () => number;
}

export class LogRetention {
  readonly #options: LogRetentionOptions;
  readonly #loop: RetentionLoop;
  readonly #deleted: { inc: (count: number) => void };
  readonly #kinds: readonly { persist: boolean; most: number; lifetimeMs: DurationMs }[];
  /** Entries per device and kind, counted once and followed from there. */
  readonly #counts = new Map<string, number>();
  #queue: LogDevice[] = [];
  #removedEarly = 0;
  /** Bytes of entries stored since the total was compared. */
  #addedBytes = 0;

  constructor(options: LogRetentionOptions) {
    const { clock, log, limits, metrics } = options;
    this.#options = options;
    this.#kinds = [
      { persist: false, most: limits.ephemeralEntries, lifetimeMs: limits.ephemeralHours * HOUR_MS },
      { persist: true, most: limits.persistentEntries, lifetimeMs: limits.persistentDays * 24 * HOUR_MS },
    ];
    this.#deleted = metrics.counter('device_logs_deleted_total', 'Entries deleted by retention.');
    this.#loop = new RetentionLoop({
      clock,
      log,
      limits,
      what: 'device logs',
      failures: metrics.counter('device_log_retention_failures_total', 'Retention batches that failed.'),
      deleteBatch: () => this.#deleteBatch(),
      // Stamps are corrected device by device, in the same batches.
      restamp: () => {
        this.#queue = [];
      },
      onFailure: () => {
        this.#counts.clear();
        this.#queue = [];
      },
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): void {
    this.#loop.stop();
  }

  /** Starts a round soon. */
  expedite(): void {
    this.#queue = [];
    this.#loop.expedite();
  }

  /** Counts entries that were stored. */
  added(entries: readonly LogEntry[]): void {
    for (const { deviceId, persist, message } of entries) {
      this.#addedBytes += Buffer.byteLength(message);
      this.#count(deviceId, persist, 1);
    }
    if (this.#addedBytes < this.#options.sizeMaxBytes() * LOG_STEP) return;
    this.#addedBytes = 0;
    this.#loop.expedite();
  }

  /** Entries deleted since the start because all of them took too much room. */
  get removedEarly(): number {
    return this.#removedEarly;
  }

  #deleteBatch(): boolean {
    const { history, store } = this.#options;
    if (history.transaction(() => this.#makeRoom())) return true;
    if (this.#queue.length === 0) this.#queue = store.devices();
    history.transaction(() => this.#cleanSome());
    return this.#queue.length > 0;
  }

  /** Cleans devices of the queue until rows or time are used up. */
  #cleanSome(): void {
    const { clock, limits } = this.#options;
    const untilMs = clock.monotonicMs() + limits.retentionBatchMs;
    let left = limits.deletedAtOnce;
    for (;;) {
      const device = this.#queue[0];
      if (!device || left <= 0 || clock.monotonicMs() > untilMs) return;
      const touched = this.#clean(device, left);
      this.#deleted.inc(touched);
      if (touched < left) this.#queue.shift();
      left -= touched;
    }
  }

  /** Deletes of one device; the number of rows touched, at most `most`. */
  #clean(device: LogDevice, most: number): number {
    const { store, devices, clock } = this.#options;
    const { number, deviceId } = device;
    if (!devices.get(deviceId)) {
      if (!devices.mayForget(deviceId)) return 0;
      for (const { persist } of this.#kinds) this.#counts.delete(keyOf(deviceId, persist));
      return store.purge(number, most);
    }
    const correction = this.#loop.correction();
    let touched = correction ? store.restamp(number, correction, most) : 0;
    for (const { persist, most: mostOfKind, lifetimeMs } of this.#kinds) {
      const old = clock.proven.olderThan(lifetimeMs);
      if (old && touched < most)
        touched += this.#count(deviceId, persist, -store.removeOld(number, persist, old, most - touched));
      // While the clock is not set, the newest entries look like the oldest.
      const surplus = clock.isSet() ? this.#countOf(device, persist) - mostOfKind : 0;
      if (surplus > 0 && touched < most) {
        const removed = store.removeOldest(number, persist, Math.min(surplus, most - touched));
        touched += this.#count(deviceId, persist, -removed);
      }
    }
    return touched;
  }

  /** The device with the largest log loses its oldest entries, temporary ones first. True when there is more to delete. */
  #makeRoom(): boolean {
    const { store, limits } = this.#options;
    this.#addedBytes = 0;
    const maxBytes = this.#options.sizeMaxBytes();
    if (store.totalBytes() <= maxBytes) return false;
    let left = limits.deletedAtOnce;
    while (left > 0 && store.totalBytes() > maxBytes * (1 - LOG_STEP)) {
      const largest = store.largest();
      const touched = largest ? this.#removeOldest(largest, Math.min(left, ROWS_PER_STEP)) : 0;
      if (touched === 0) return false;
      left -= touched;
    }
    this.#deleted.inc(limits.deletedAtOnce - left);
    this.#removedEarly += limits.deletedAtOnce - left;
    return left === 0;
  }

  #removeOldest({ number, deviceId }: LogDevice, most: number): number {
    for (const { persist } of this.#kinds) {
      const removed = this.#options.store.removeOldest(number, persist, most);
      if (this.#count(deviceId, persist, -removed) > 0) return removed;
    }
    return 0;
  }

  #countOf({ number, deviceId }: LogDevice, persist: boolean): number {
    const count = (): number => this.#options.store.countOf(number, persist);
    return this.#counts.getOrInsertComputed(keyOf(deviceId, persist), count);
  }

  /** Follows a count that is known; returns how many there are more or less. */
  #count(deviceId: string, persist: boolean, change: number): number {
    const key = keyOf(deviceId, persist);
    const count = this.#counts.get(key);
    if (count !== undefined) this.#counts.set(key, count + change);
    return Math.abs(change);
  }
}

const keyOf = (deviceId: string, persist: boolean): string => `${deviceId}/${persist ? 1 : 0}`;
