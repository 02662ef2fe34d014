/**
 * Deletes entries that are too old, too many, too large together, or of devices that are gone, in bites of bounded
 * size and time; and gives a time to entries that were stamped before the clock was set. Source:
 * docs/interface/http.md#device-logs: persistent 90 days or 50 000 per device, ephemeral 24 hours or 5 000.
 */
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { RetentionLoop } from '../../platform/retention/index.ts';
import type { SqlDatabase } from '../../platform/sqlite/index.ts';
import type { Devices } from '../devices/index.ts';
import type { LogEntry } from './model.ts';
import type { DeviceLogStore, LogDevice } from './store.ts';

const HOUR_MS = 3_600_000;
/** G: entries deleted before the sizes are compared again. */
const ROWS_PER_STEP = 20;
/** Part of the room that is made free, and that may come, before it is looked at again. */
const LOG_STEP = LIMITS.history.logStepPercent / 100;

export interface LogRetention {
  /** Entries that were stored. */
  added(entries: readonly LogEntry[]): void;
  /** There is something to delete now. */
  expedite(): void;
  start(): void;
  /** Entries deleted since the start because all of them took too much room. */
  readonly removedEarly: number;
  stop(): void;
}

export function createLogRetention(options: {
  history: SqlDatabase;
  store: DeviceLogStore;
  devices: Devices;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits: Limits['deviceLogs'];
  /** What all entries may take on the disk. */
  sizeMaxBytes: () => number;
}): LogRetention {
  const { history, store, devices, clock, log, limits } = options;
  const deleted = options.metrics.counter('device_logs_deleted_total', 'Entries deleted by retention.');
  const kinds = [
    { persist: false, most: limits.ephemeralEntries, lifetimeMs: limits.ephemeralHours * HOUR_MS },
    { persist: true, most: limits.persistentEntries, lifetimeMs: limits.persistentDays * 24 * HOUR_MS },
  ];
  /** Entries per device and kind, counted once and followed from there. */
  const counts = new Map<string, number>();
  const keyOf = (deviceId: string, persist: boolean): string => `${deviceId}/${persist ? 1 : 0}`;
  let queue: LogDevice[] = [];
  let removedEarly = 0;
  /** Of entries stored since the whole was counted. */
  let addedBytes = 0;

  function countOf({ number, deviceId }: LogDevice, persist: boolean): number {
    const key = keyOf(deviceId, persist);
    let count = counts.get(key);
    if (count === undefined) counts.set(key, (count = store.countOf(number, persist)));
    return count;
  }

  function uncount(deviceId: string, persist: boolean, removedCount: number): number {
    const key = keyOf(deviceId, persist);
    const count = counts.get(key);
    if (count !== undefined) counts.set(key, count - removedCount);
    return removedCount;
  }

  /** Deletes of one device; the number of rows touched, at most `most`. */
  function clean(device: LogDevice, most: number): number {
    if (!devices.get(device.deviceId)) {
      if (!devices.mayForget(device.deviceId)) return 0;
      for (const { persist } of kinds) counts.delete(keyOf(device.deviceId, persist));
      return store.purge(device.number, most);
    }
    const correction = loop.correction();
    let touched = correction ? store.restamp(device.number, correction, most) : 0;
    for (const kind of kinds) {
      const old = clock.proven.olderThan(kind.lifetimeMs);
      if (old && touched < most)
        touched += uncount(
          device.deviceId,
          kind.persist,
          store.removeOld(device.number, kind.persist, old, most - touched),
        );
      // While the clock is not set, the newest entries look like the oldest.
      const surplus = clock.isSet() ? countOf(device, kind.persist) - kind.most : 0;
      if (surplus > 0 && touched < most)
        touched += uncount(
          device.deviceId,
          kind.persist,
          store.removeOldest(device.number, kind.persist, Math.min(surplus, most - touched)),
        );
    }
    return touched;
  }

  /** Devices of the queue until rows or time are used up. */
  function cleanSome(): void {
    const untilMs = clock.monotonicMs() + limits.retentionBiteMs;
    let left = limits.deletedAtOnce;
    for (;;) {
      const device = queue[0];
      if (!device || left <= 0 || clock.monotonicMs() > untilMs) return;
      const touched = clean(device, left);
      deleted.inc(touched);
      if (touched < left) queue.shift();
      left -= touched;
    }
  }

  /** The device with the most bytes loses its oldest, temporary ones first. True when there is more to delete. */
  function makeRoom(): boolean {
    addedBytes = 0;
    const maxBytes = options.sizeMaxBytes();
    if (store.totalBytes() <= maxBytes) return false;
    let left = limits.deletedAtOnce;
    while (left > 0 && store.totalBytes() > maxBytes * (1 - LOG_STEP)) {
      const largest = store.largest();
      const touched = largest ? removeOldest(largest, Math.min(left, ROWS_PER_STEP)) : 0;
      if (touched === 0) return false;
      left -= touched;
    }
    deleted.inc(limits.deletedAtOnce - left);
    removedEarly += limits.deletedAtOnce - left;
    return left === 0;
  }

  function removeOldest({ number, deviceId }: LogDevice, most: number): number {
    for (const { persist } of kinds) {
      const touched = uncount(deviceId, persist, store.removeOldest(number, persist, most));
      if (touched > 0) return touched;
    }
    return 0;
  }

  const loop = new RetentionLoop({
    clock,
    log,
    limits,
    what: 'device logs',
    failures: options.metrics.counter('device_log_retention_failures_total', 'Retention bites that failed.'),
    bite: () => {
      if (history.transaction(makeRoom)) return true;
      if (queue.length === 0) queue = store.devices();
      history.transaction(cleanSome);
      return queue.length > 0;
    },
    // Stamps are corrected device by device, in the same bites.
    restamp: () => {
      queue = [];
    },
    onFailure: () => {
      counts.clear();
      queue = [];
    },
  });

  return {
    added: (entries) => {
      for (const { deviceId, persist, message } of entries) {
        addedBytes += Buffer.byteLength(message);
        const key = keyOf(deviceId, persist);
        const count = counts.get(key);
        if (count !== undefined) counts.set(key, count + 1);
      }
      if (addedBytes < options.sizeMaxBytes() * LOG_STEP) return;
      addedBytes = 0;
      loop.expedite();
    },
    expedite: () => {
      queue = [];
      loop.expedite();
    },
    start: () => loop.start(),
    get removedEarly() {
      return removedEarly;
    },
    stop: () => loop.stop(),
  };
}
