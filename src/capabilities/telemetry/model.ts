/** Words of telemetry: series, samples, latest values, events. */
import type { Device } from '../devices/index.ts';
import {
  exactJson,
  type JsonValue,
  parseExactJson,
  type Rejection,
  type TelemetryType,
  type TelemetryValue,
} from '../../protocol/telemetry.ts';

export type { TelemetryType, TelemetryValue };

/**
 * How a series is kept. `number`: doubles and, exactly, 64-bit integers; `boolean`; `text`: strings, and
 * everything else as JSON text.
 */
export type SeriesKind = 'number' | 'boolean' | 'text';

export function kindOf(type: TelemetryType): SeriesKind {
  if (type === 'float' || type === 'integer') return 'number';
  return type === 'boolean' ? 'boolean' : 'text';
}

/** A value as a series keeps it. */
export type StoredValue = number | bigint | boolean | string;

/** All samples of one attribute of one device with one type; another type is another series. */
export interface Series {
  readonly id: number;
  readonly deviceId: string;
  readonly attribute: string;
  readonly type: TelemetryType;
}

/** The newest sample by time of measurement. */
export interface Latest {
  timestampS: number;
  value: TelemetryValue;
}

/** What is sent on: one message, only its accepted attributes. */
export interface ReceivedValue {
  value: TelemetryValue;
  /** False when a newer sample of the attribute is known: history, not news. */
  isLatest: boolean;
}

export type RejectionReason = Rejection['reason'] | 'undeclared' | 'future' | 'late' | 'too_many';

export interface TelemetryEvents {
  /** After the latest values were updated; the sync of the disk may still be running. */
  telemetry_received: {
    device: Device;
    timestampS: number;
    receivedAtMs: number;
    /** By declared attribute name, `alerts` included. Never empty. */
    values: ReadonlyMap<string, ReceivedValue>;
  };
  /**
   * A value or message was dropped or changed; at most once per device, attribute, reason and hour.
   * `attribute` is undefined when the whole message is meant.
   */
  attribute_rejected: {
    device: Device;
    attribute: string | undefined;
    reason: RejectionReason;
    message: string;
  };
}

/** Memory form → form of the series. */
export function toStored(type: TelemetryType, value: TelemetryValue): StoredValue {
  if (type === 'string' || kindOf(type) !== 'text') return value as StoredValue;
  return exactJson(value);
}

/** Form of the series → memory form. */
export function fromStored(type: TelemetryType, value: StoredValue): TelemetryValue {
  if (type === 'string' || typeof value !== 'string') return value;
  return parseExactJson(value) as JsonValue;
}
