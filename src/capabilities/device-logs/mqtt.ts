/** Log messages of devices: decoded, limited in rate, handed to the log. */
import type { Limits } from '../../lib/limits.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { decodeDeviceLog } from '../../protocol/device-log.ts';
import type { DeviceMessageHandler } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';
import type { LogEntry } from './model.ts';

/** What is remembered of a device that has logged. */
interface Flow {
  bucket: TokenBucket;
  device: Device;
  droppedCount: number;
  droppedPersistent: boolean;
  /** Runs while dropped entries wait for their summary. */
  summaryTimer: Timer | undefined;
  malformedUntilMs: number;
}

const MALFORMED_INTERVAL_MS = 60_000;

export interface LogIntake {
  handle: DeviceMessageHandler;
  forget(deviceId: string): void;
  /** Writes the summaries that wait. */
  stop(): void;
}

/**
 * Entries beyond the rate are dropped and counted; one summary entry tells how many, at most once per
 * interval, and is kept as long as the most lasting of them would have been.
 */
export function createLogIntake(options: {
  clock: Clock;
  metrics: Metrics;
  limits: Limits['deviceLogs'];
  /** Resolves when the entry is on disk. */
  store: (entry: LogEntry) => Promise<void>;
  /** An entry of the gateway itself. */
  append: (device: Device, entry: Pick<LogEntry, 'severity' | 'message' | 'persist'>) => void;
}): LogIntake {
  const { clock, limits, append } = options;
  const flows = new Map<string, Flow>();
  const dropped = options.metrics.counter('device_logs_dropped_total', 'Entries of devices not stored.', [
    'reason',
  ]);

  function flowOf(device: Device): Flow {
    let flow = flows.get(device.id);
    if (!flow) {
      flow = {
        bucket: new TokenBucket(limits.perSecond, limits.burst, clock.monotonicMs()),
        device,
        droppedCount: 0,
        droppedPersistent: false,
        summaryTimer: undefined,
        malformedUntilMs: 0,
      };
      flows.set(device.id, flow);
    }
    return flow;
  }

  function drop(flow: Flow, persist: boolean): void {
    dropped.inc({ reason: 'rate' });
    flow.droppedCount++;
    flow.droppedPersistent ||= persist;
    flow.summaryTimer ??= clock.setTimer(limits.summaryIntervalMs, () => summarize(flow));
  }

  function summarize(flow: Flow): void {
    const { device, droppedCount, droppedPersistent } = flow;
    flow.summaryTimer?.cancel();
    flow.summaryTimer = undefined;
    flow.droppedCount = 0;
    flow.droppedPersistent = false;
    append(device, {
      severity: 'warning',
      message: `${droppedCount} log entries were dropped: a device may send ${limits.perSecond} per second.`,
      persist: droppedPersistent,
    });
  }

  function dropMalformed(flow: Flow): void {
    dropped.inc({ reason: 'malformed' });
    const nowMs = clock.monotonicMs();
    if (nowMs < flow.malformedUntilMs) return;
    flow.malformedUntilMs = nowMs + MALFORMED_INTERVAL_MS;
    append(flow.device, {
      severity: 'error',
      message: 'A log message without a text "message" was dropped.',
      persist: false,
    });
  }

  return {
    handle: ({ device, body, receivedAtMs, qos }) => {
      const flow = flowOf(device);
      const decoded = decodeDeviceLog(body, limits.messageBytes);
      if (!decoded) return dropMalformed(flow);
      if (!flow.bucket.take(clock.monotonicMs())) return drop(flow, decoded.persist);
      const stored = options.store({ deviceId: device.id, receivedAtMs, ...decoded });
      if (qos > 0) return stored;
      // Nobody waits for an acknowledgement; a disk that takes nothing must not close the connection.
      stored.catch(() => dropped.inc({ reason: 'disk' }));
      return undefined;
    },
    forget: (deviceId) => {
      flows.get(deviceId)?.summaryTimer?.cancel();
      flows.delete(deviceId);
    },
    stop: () => {
      for (const flow of flows.values()) if (flow.summaryTimer) summarize(flow);
    },
  };
}
