/** Device log entries. Source: docs/interface/http.md#device-logs; docs/interface/mqtt-devices.md#logs. */
import type { EpochMs, EpochS } from '../../lib/time.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';

export interface LogEntry {
  readonly deviceId: string;
  /** Receipt at the broker, the sort key; never decreases per device within one run. */
  readonly receivedAtMs: EpochMs;
  /** The device's own time in Unix seconds, when it sent one. */
  readonly deviceTimeS: EpochS | undefined;
  readonly severity: LogSeverity;
  readonly message: string;
  /** True: kept for long; false: temporary. */
  readonly persist: boolean;
}

/** Which entries of a device are asked for; an absent member does not restrict. */
export interface LogFilter {
  persist?: boolean | undefined;
  severities?: readonly LogSeverity[] | undefined;
  receivedFromMs?: EpochMs | undefined;
  receivedBeforeMs?: EpochMs | undefined;
}

/** Whether a live entry passes; instants do not apply to it. */
export function passes(entry: LogEntry, { persist, severities }: LogFilter): boolean {
  if (persist !== undefined && entry.persist !== persist) return false;
  return severities === undefined || severities.includes(entry.severity);
}
