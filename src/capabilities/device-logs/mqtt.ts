/** Log messages of devices: decoded, limited in rate, handed to the log. */
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { decodeDeviceLog } from '../../protocol/device-log.ts';
import type { DeviceMessage } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';
import type { LogEntry } from './model.ts';

/** State of a device that has logged. */
interface Flow {
  bucket: TokenBucket;
  device: Device;
  droppedCount: number;
  droppedPersistent: boolean;
  /** Runs while dropped entries wait for their summary. */
  summaryTimer: Timer | undefined;
  malformedUntilMs: MonotonicMs;
}

const MALFORMED_INTERVAL_MS = 60_000;

interface LogIntakeOptions {
  clock: Clock;
  metrics: Metrics;
  limits: Limits['deviceLogs'];
  /** Resolves when the entry is on disk. */
  store: (entry: LogEntry) => Promise<void>;
  /** An entry of the gateway itself. */
  append: (device: Device, entry: Pick<LogEntry, 'severity' | 'message' | 'persist'>) => void;
}

/**
 * Entries beyond the rate are dropped and counted; one summary entry names the number, at most once per
 * interval, and is persistent if one of them was.
 */
export class LogIntake {
  readonly #options: LogIntakeOptions;
  readonly #flows = new Map<string, Flow>();
  readonly #dropped: { inc: (labels: { reason: string }) => void };

  constructor(options: LogIntakeOptions) {
    this.#options = options;
    this.#dropped = options.metrics.counter('device_logs_dropped_total', 'Entries of devices not stored.', {
      reason: ['rate', 'malformed', 'disk'],
    });
  }

  /** A promise resolves when the entry is on disk. */
  handle({ device, body, receivedAtMs, qos }: DeviceMessage): Promise<void> | undefined {
    const { clock, limits, store } = this.#options;
    const flow = this.#flowOf(device);
    const decoded = decodeDeviceLog(body, limits.messageBytes);
    if (!decoded) return this.#dropMalformed(flow);
    if (!flow.bucket.take(clock.monotonicMs())) return this.#drop(flow, decoded.persist);
    const stored = store({ deviceId: device.id, receivedAtMs, ...decoded });
    if (qos > 0) return stored;
    // Nobody waits for an acknowledgement; a failing disk must not close the connection.
    stored.catch(() => this.#dropped.inc({ reason: 'disk' }));
    return undefined;
  }

  forget(deviceId: string): void {
    this.#flows.get(deviceId)?.summaryTimer?.cancel();
    this.#flows.delete(deviceId);
  }

  /** Writes the waiting summaries. */
  stop(): void {
    for (const flow of this.#flows.values()) if (flow.summaryTimer) this.#summarize(flow);
  }

  #flowOf(device: Device): Flow {
    const { clock, limits } = this.#options;
    return this.#flows.getOrInsertComputed(device.id, () => ({
      bucket: new TokenBucket(limits.perSecond, limits.burst, clock.monotonicMs()),
      device,
      droppedCount: 0,
      droppedPersistent: false,
      summaryTimer: undefined,
      malformedUntilMs: 0,
    }));
  }

  #drop(flow: Flow, persist: boolean): undefined {
    const { clock, limits } = this.#options;
    this.#dropped.inc({ reason: 'rate' });
    flow.droppedCount++;
    flow.droppedPersistent ||= persist;
    flow.summaryTimer ??= clock.setTimer(limits.summaryIntervalMs, () => this.#summarize(flow));
  }

  #summarize(flow: Flow): void {
    const { device, droppedCount, droppedPersistent } = flow;
    const { perSecond } = this.#options.limits;
    flow.summaryTimer?.cancel();
    flow.summaryTimer = undefined;
    flow.droppedCount = 0;
    flow.droppedPersistent = false;
    this.#options.append(device, {
      severity: 'warning',
      message: `${droppedCount} log entries were dropped: a device may send ${perSecond} per second.`,
      persist: droppedPersistent,
    });
  }

  #dropMalformed(flow: Flow): undefined {
    this.#dropped.inc({ reason: 'malformed' });
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs < flow.malformedUntilMs) return;
    flow.malformedUntilMs = nowMs + MALFORMED_INTERVAL_MS;
    this.#options.append(flow.device, {
      severity: 'error',
      message: 'A log message without a text "message" was dropped.',
      persist: false,
    });
  }
}
