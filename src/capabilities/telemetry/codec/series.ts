/** Series and single samples, in the form in which they are stored and in that of the rest of the gateway. */
import type { EpochS } from '../../../lib/time.ts';
import {
  exactJson,
  type JsonValue,
  parseExactJson,
  type TelemetryType,
  type TelemetryValue,
} from '../../../protocol/telemetry.ts';

/**
 * How a series is kept. `number`: doubles and, exactly, 64-bit integers; `boolean`; `text`: strings, and
 * everything else as JSON text.
 */
export type SeriesKind = 'number' | 'boolean' | 'text';

export function kindOf(type: TelemetryType): SeriesKind {
  if (type === 'float' || type === 'integer') return 'number';
  return type === 'boolean' ? 'boolean' : 'text';
}

/** All samples of one attribute of one device with one type; another type is another series. */
export interface Series {
  readonly id: number;
  readonly deviceId: string;
  readonly attribute: string;
  readonly type: TelemetryType;
}

/** A value as a series keeps it. */
export type StoredValue = number | bigint | boolean | string;

export interface StoredSample {
  timestampS: EpochS;
  value: StoredValue;
}

/** The newest sample by time of measurement. */
export interface Latest {
  timestampS: EpochS;
  value: TelemetryValue;
}

export function toStored(type: TelemetryType, value: TelemetryValue): StoredValue {
  if (type === 'string' || kindOf(type) !== 'text') return value as StoredValue;
  return exactJson(value);
}

export function fromStored(type: TelemetryType, value: StoredValue): TelemetryValue {
  if (type === 'string' || typeof value !== 'string') return value;
  return parseExactJson(value) as JsonValue;
}
