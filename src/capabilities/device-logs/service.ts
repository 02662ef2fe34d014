/**
 * Logs of devices: taken in, stored by group commit, listed, streamed. Source: docs/interface/http.md#device-logs and
 * docs/interface/http.md#streams. What is listed or streamed is on disk.
 */
import { Emitter } from '../../lib/emitter.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import { type Clock, correctStamp, createStampCorrector } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { SqlDatabase, GroupCommit } from '../../platform/sqlite/index.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { LogEntry, LogFilter } from './model.ts';
import { createLogIntake } from './mqtt.ts';
import { createLogRetention } from './retention.ts';
import { createDeviceLogStore } from './store.ts';

/** Emitted after commit, in the order of storing. */
export interface DeviceLogEvents {
  entry_stored: { entry: LogEntry };
}

export interface LogQuery extends LogFilter {
  /** Presents the window newest first. */
  descending: boolean;
  limit: number;
  /** Counts back from the newest matching entry. */
  offset: number;
}

export interface DeviceLogs {
  readonly events: Emitter<DeviceLogEvents>;
  /** Adds an entry of the gateway itself, stamped now. Does not wait for the disk and does not fail. */
  append(device: Device, entry: Pick<LogEntry, 'severity' | 'message' | 'persist'>): void;
  list(device: Device, query: LogQuery): { entries: LogEntry[]; totalCount: number };
  /** Begins to delete what is too old, too much, or of devices that are gone. */
  start(): void;
  /** Entries deleted since the start before they were old enough, because logs of devices had no more room. */
  readonly removedEarly: number;
  stop(): Promise<void>;
}

export interface DeviceLogsOptions {
  /** history.db */
  history: SqlDatabase;
  /** Group commit of history.db. */
  commits: GroupCommit;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits;
  devices: Devices;
  connectivity: Connectivity;
  /** What all entries may take on the disk; default: no limit. */
  sizeMaxBytes?: () => number;
}

/** Columns and index entry beside the text. */
const ROW_OVERHEAD_BYTES = 60;

export function createDeviceLogs(options: DeviceLogsOptions): DeviceLogs {
  const { history, commits, clock, metrics, devices } = options;
  const log = options.log.child({ component: 'device-logs' });
  const limits = (options.limits ?? LIMITS).deviceLogs;
  const store = createDeviceLogStore(history);
  const events = new Emitter<DeviceLogEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  const retention = createLogRetention({
    history,
    store,
    devices,
    clock,
    log,
    metrics,
    limits,
    sizeMaxBytes: options.sizeMaxBytes ?? (() => Number.POSITIVE_INFINITY),
  });
  const storedCount = metrics.counter('device_logs_stored_total', 'Entries that reached the disk.');
  const newestMs = new Map<string, number>();
  let pending: LogEntry[] = [];
  let writtenCount = 0;
  metrics.gauge('device_logs_pending', 'Entries waiting for a commit.', [], (gauge) =>
    gauge.set(pending.length),
  );

  commits.join({
    write: () => {
      writtenCount = pending.length;
      store.insert(pending);
    },
    committed: () => {
      const stored = pending.splice(0, writtenCount);
      writtenCount = 0;
      storedCount.inc(stored.length);
      retention.added(stored);
      for (const entry of stored) events.emit('entry_stored', { entry });
    },
  });

  /** Resolves when the entry is on disk; rejects when the disk takes nothing and the buffer is full. */
  async function add(entry: LogEntry): Promise<void> {
    const sizeBytes = Buffer.byteLength(entry.message) + ROW_OVERHEAD_BYTES;
    if (!commits.isFull(sizeBytes)) {
      const receivedAtMs = Math.max(entry.receivedAtMs, newestMs.get(entry.deviceId) ?? 0);
      newestMs.set(entry.deviceId, receivedAtMs);
      pending.push({ ...entry, receivedAtMs });
    }
    await commits.request(sizeBytes);
  }

  const append: DeviceLogs['append'] = (device, { severity, message, persist }) => {
    const text = cutToBytes(message.toWellFormed(), limits.messageBytes);
    const entry = { deviceId: device.id, severity, persist, message: text };
    add({ ...entry, receivedAtMs: clock.wallMs(), deviceTimeS: undefined }).catch((error: unknown) =>
      log.warnLimited('append', 60_000, 'a device log entry of the gateway was lost', { error }),
    );
  };

  const intake = createLogIntake({ clock, metrics, limits, store: add, append });
  options.connectivity.handle('logs', intake.handle);
  const stopListening = devices.events.on('device_deleted', 'device-logs', ({ device }) => {
    intake.forget(device.id);
    newestMs.delete(device.id);
    retention.expedite();
  });
  // Those on disk are corrected by the retention.
  const corrector = createStampCorrector(clock, () => {
    const correction = corrector.correction();
    if (!correction) return;
    newestMs.clear();
    pending = pending.map((entry) => ({
      ...entry,
      receivedAtMs: correctStamp(entry.receivedAtMs, correction),
    }));
  });

  return {
    events,
    append,
    list: (device, query) => {
      const entries = store.newest(device.id, query, query.limit, query.offset);
      return {
        entries: query.descending ? entries : entries.reverse(),
        totalCount: store.count(device.id, query),
      };
    },
    start: () => retention.start(),
    get removedEarly() {
      return retention.removedEarly;
    },
    stop: async () => {
      stopListening();
      corrector.stop();
      retention.stop();
      intake.stop();
      try {
        await commits.flush();
      } catch (error) {
        log.warn('the last device logs could not be stored', { error });
      }
    },
  };
}
