/** Series and samples, as they are stored and as the rest of the gateway has them. */
import { Buffer } from 'node:buffer';
import type { EpochS } from '../../lib/time.ts';
import { exactJson, parseExactJson } from '../../lib/json.ts';
import type { JsonValue, TelemetryType, TelemetryValue } from '../../protocol/telemetry.ts';

/** How a series is stored. `number`: doubles and 64-bit integers; `text`: strings, and everything else as JSON text. */
export type SeriesKind = (typeof KINDS)[number];

/** In the order of their numbers in the store. */
export const KINDS = ['number', 'boolean', 'text'] as const;

/** In the order of their numbers in the journal. */
export const TYPES: readonly TelemetryType[] = [
  'string',
  'integer',
  'float',
  'boolean',
  'array_of_strings',
  'json',
  'alerts',
  'object',
];

/** Which of the three codings a type of telemetry takes. */
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

/** A value as it is stored. */
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

/** A value as the store keeps it: arrays and objects as JSON text with every digit. */
export function toStored(type: TelemetryType, value: TelemetryValue): StoredValue {
  if (type === 'string' || kindOf(type) !== 'text') return value as StoredValue;
  return exactJson(value);
}

/** The value of a sample as callers know it: texts of arrays and objects become JSON again, with every digit. */
export function fromStored(type: TelemetryType, value: StoredValue): TelemetryValue {
  if (type === 'string' || typeof value !== 'string') return value;
  return parseExactJson(value) as JsonValue;
}

type SeriesRow = [id: number, deviceId: string, attribute: string, type: TelemetryType];

/**
 * The list of series, for a copy beside the journal: blocks and records name series by number, so without the list
 * they mean nothing.
 */
export function writeSeriesCopy(all: Iterable<Series>): Buffer {
  const rows = [...all].map(({ id, deviceId, attribute, type }): SeriesRow => [
    id,
    deviceId,
    attribute,
    type,
  ]);
  return Buffer.from(JSON.stringify(rows));
}

/** Empty when there is no intact copy. */
export function readSeriesCopy(bytes: Uint8Array | undefined): Series[] {
  if (!bytes) return [];
  const rows = JSON.parse(Buffer.from(bytes).toString()) as SeriesRow[];
  return rows.map(([id, deviceId, attribute, type]) => ({ id, deviceId, attribute, type }));
}
