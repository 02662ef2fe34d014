import { Emitter } from '../../lib/emitter.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import {
  type Clock,
  correctStamp,
  createStampCorrector,
  type StampCorrection,
} from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { SqlDatabase, GroupCommit } from '../../platform/sqlite/index.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { LogEntry, LogFilter } from './model.ts';
import { LogIntake } from './mqtt.ts';
import { LogRetention } from './retention.ts';
import { createDeviceLogStore, type DeviceLogStore } from './store.ts';

/** Emitted after commit, in the order of storing. */
interface DeviceLogEvents {
  entry_stored: { entry: LogEntry };
}

/** A part of a log. */
export interface LogQuery extends LogFilter {
  descending: boolean;
  limit: number;
  /** Counts back from the newest matching entry. */
  offset: number;
}

interface DeviceLogsOptions extends Instruments {
  /** history.db */
  history: SqlDatabase;
  /** Group commit of history.db. */
  commits: GroupCommit;
  limits?: Limits;
  devices: Devices;
  connectivity: Pick<Connectivity, 'handle'>;
  /** Largest size of all entries on the disk; default: no limit. */
  sizeMaxBytes?: () => number;
}

/** Columns and index entry beside the text. */
const ROW_OVERHEAD_BYTES = 60;

/**
 * Logs of devices: received, stored by group commit, listed, streamed. Source: docs/interface/http.md#device-logs and
 * docs/interface/http.md#streams. Only entries on the disk are listed and streamed.
 */
export class DeviceLogs {
  readonly events: Emitter<DeviceLogEvents>;
  readonly #commits: GroupCommit;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #limits: Limits['deviceLogs'];
  readonly #store: DeviceLogStore;
  readonly #retention: LogRetention;
  readonly #intake: LogIntake;
  readonly #storedCount: { inc: (count: number) => void };
  readonly #unsubscribe: (() => void)[];
  readonly #newestMs = new Map<string, number>();
  #pending: LogEntry[] = [];
  #writtenCount = 0;
  /** No number is used twice, even if its entry was deleted, because readers continue after the last number they have. */
  #newestNumber = 0;
  #writtenNumber = 0;

  constructor(options: DeviceLogsOptions) {
    const { history, commits, clock, metrics, devices, connectivity, limits = LIMITS } = options;
    const { sizeMaxBytes = () => Number.POSITIVE_INFINITY } = options;
    const log = options.log.child({ component: 'device-logs' });
    this.#commits = commits;
    this.#clock = clock;
    this.#log = log;
    this.#limits = limits.deviceLogs;
    this.events = new Emitter(log);
    this.#store = createDeviceLogStore(history);
    const base = { clock, metrics, limits: limits.deviceLogs };
    this.#retention = new LogRetention({ ...base, history, store: this.#store, devices, log, sizeMaxBytes });
    this.#storedCount = metrics.counter('device_logs_stored_total', 'Entries that reached the disk.');
    metrics.measured('device_logs_pending', 'Entries waiting for a commit.', () => this.#pending.length);
    commits.join({ write: () => this.#write(), committed: () => this.#committed() });
    this.#intake = new LogIntake({
      ...base,
      store: (entry) => this.#add(entry),
      append: (device, entry) => this.append(device, entry),
    });
    connectivity.handle('logs', (message) => this.#intake.handle(message));
    // The retention corrects entries on the disk.
    const corrector = createStampCorrector(clock, () => this.#correct(corrector.correction()));
    this.#unsubscribe = [
      devices.events.on('device_deleted', 'device-logs', ({ device }) => this.#forget(device.id)),
      () => corrector.stop(),
    ];
  }

  /** Starts retention. */
  start(): void {
    this.#retention.start();
  }

  async stop(): Promise<void> {
    for (const end of this.#unsubscribe) end();
    this.#retention.stop();
    this.#intake.stop();
    try {
      await this.#commits.flush();
    } catch (error) {
      this.#log.warn('the last device logs could not be stored', { error });
    }
  }

  /** Adds an entry of the gateway itself, stamped now. Does not wait for the disk and does not fail. */
  append(
    device: Device,
    { severity, message, persist }: Pick<LogEntry, 'severity' | 'message' | 'persist'>,
  ): void {
    const text = cutToBytes(message.toWellFormed(), this.#limits.messageBytes);
    const entry = { deviceId: device.id, severity, persist, message: text };
    this.#add({ ...entry, receivedAtMs: this.#clock.wallMs(), deviceTimeS: undefined }).catch(
      (error: unknown) =>
        this.#log.warnLimited('append', 60_000, 'a device log entry of the gateway was lost', { error }),
    );
  }

  /** Entries of all devices with a number above, in their order. */
  after(number: number, limit: number): (LogEntry & { number: number })[] {
    return this.#store.after(number, limit);
  }

  /** Number of the entry that was stored last. */
  newestNumber(): number {
    return Math.max(this.#newestNumber, this.#store.newestNumber());
  }

  list(device: Device, query: LogQuery): { entries: LogEntry[]; totalCount: number } {
    const entries = this.#store.newest(device.id, query, query.limit, query.offset);
    return {
      entries: query.descending ? entries : entries.reverse(),
      totalCount: this.#store.count(device.id, query),
    };
  }

  /** Entries that were deleted early for lack of room, since the start. */
  get removedEarly(): number {
    return this.#retention.removedEarly;
  }

  /** Resolves when the entry is on disk; rejects when the disk fails and the buffer is full. */
  async #add(entry: LogEntry): Promise<void> {
    const sizeBytes = Buffer.byteLength(entry.message) + ROW_OVERHEAD_BYTES;
    if (!this.#commits.isFull(sizeBytes)) {
      const receivedAtMs = Math.max(entry.receivedAtMs, this.#newestMs.get(entry.deviceId) ?? 0);
      this.#newestMs.set(entry.deviceId, receivedAtMs);
      this.#pending.push({ ...entry, receivedAtMs });
    }
    await this.#commits.request(sizeBytes);
  }

  #write(): void {
    this.#writtenCount = this.#pending.length;
    const newestNumber = this.newestNumber();
    this.#writtenNumber = newestNumber + this.#pending.length;
    this.#store.insert(this.#pending, newestNumber);
  }

  #committed(): void {
    const stored = this.#pending.splice(0, this.#writtenCount);
    this.#writtenCount = 0;
    this.#newestNumber = this.#writtenNumber;
    this.#storedCount.inc(stored.length);
    this.#retention.added(stored);
    for (const entry of stored) this.events.emit('entry_stored', { entry });
  }

  #forget(deviceId: string): void {
    this.#intake.forget(deviceId);
    this.#newestMs.delete(deviceId);
    this.#retention.expedite();
  }

  #correct(correction: StampCorrection | undefined): void {
    if (!correction) return;
    this.#newestMs.clear();
    this.#pending = this.#pending.map((entry) => ({
      ...entry,
      receivedAtMs: correctStamp(entry.receivedAtMs, correction),
    }));
  }
}
