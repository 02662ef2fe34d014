/** Log entries of devices. Source: docs/interface/mqtt-devices.md#logs. */
import { cutToBytes } from '../lib/text.ts';
import type { EpochS } from '../lib/time.ts';

/** Lowest first; the place in the list is the number under which it is stored. */
export const LOG_SEVERITIES = ['debug', 'info', 'warning', 'error'] as const;
export type LogSeverity = (typeof LOG_SEVERITIES)[number];

/** An unknown word counts as `info`. */
export function severityOf(word: string | undefined): LogSeverity {
  return LOG_SEVERITIES.find((severity) => severity === word) ?? 'info';
}

/** Bit n stands for severity n; all of them when none is named. */
export function severityMask(severities: readonly LogSeverity[] | undefined): number {
  return (severities ?? LOG_SEVERITIES).reduce(
    (mask, severity) => mask | (1 << LOG_SEVERITIES.indexOf(severity)),
    0,
  );
}

interface DeviceLogMessage {
  message: string;
  severity: LogSeverity;
  persist: boolean;
  /** The device's own time in whole Unix seconds, as it says; shown, never used for order. */
  deviceTimeS: EpochS | undefined;
}

/** Larger numbers are milliseconds. */
const MILLISECONDS_ABOVE = 1e11;

/** Reads an entry; undefined when it has no text. Everything else has a default. */
export function decodeDeviceLog(
  body: Record<string, unknown>,
  messageBytes: number,
): DeviceLogMessage | undefined {
  if (typeof body.message !== 'string') return undefined;
  return {
    message: cutToBytes(body.message.toWellFormed(), messageBytes),
    severity: severityOf(typeof body.severity === 'string' ? body.severity.toLowerCase() : undefined),
    persist: body.persist === true,
    deviceTimeS: deviceTimeOf(body.timestamp),
  };
}

function deviceTimeOf(timestamp: unknown): number | undefined {
  if (typeof timestamp !== 'number' || !(timestamp >= 0)) return undefined;
  const seconds = Math.floor(timestamp > MILLISECONDS_ABOVE ? timestamp / 1_000 : timestamp);
  return seconds <= MILLISECONDS_ABOVE ? seconds : undefined;
}
