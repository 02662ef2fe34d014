/**
 * Telemetry payloads of devices: reserved keys, time of measurement, values of each declared type.
 * Pure; docs/interface/mqtt-devices.md#telemetry.
 */
import { Buffer } from 'node:buffer';
import { exactJson, isInt64, unstorableNumber } from '../lib/json.ts';
import { LIMITS, type Limits } from '../lib/limits.ts';
import type { EpochMs, EpochS } from '../lib/time.ts';

export const TIMESTAMP_KEY = 'timestamp';
export const ALERTS_KEY = 'alerts';
export const ALERT_DETAILS_KEY = 'alert_details';

export type TelemetryType =
  | 'string'
  | 'integer'
  | 'float'
  | 'boolean'
  | 'array_of_strings'
  | 'json'
  | 'alerts'
  | 'object';

/** A value as it is kept in memory: exact. Integers beyond 2^53 are `bigint`. */
export type TelemetryValue = JsonValue;
export type JsonValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

type TimestampProblem = 'future' | 'late' | 'not_a_number';

/** 2020-01-01: a device that says an earlier time has no clock. */
const CLOCK_FROM_S = 1_577_836_800;
/** Numbers above this are milliseconds. */
const MILLISECONDS_FROM = 1e11;

/**
 * Time of measurement in Unix seconds. `future`: the device is ahead, receipt time is used. `late`: the
 * message is too old to be stored, by the time of receipt and by the proven one, which is asked only where it decides.
 * `not_a_number`: there is one of another type, receipt time is used.
 */
export function measurementTime(
  raw: unknown,
  receivedAtMs: EpochMs,
  limits: Pick<Limits['telemetry'], 'futureToleranceMs' | 'lateMs'> = LIMITS.telemetry,
  proven?: { nowMs(): EpochMs | undefined },
): { timestampS: EpochS; isReceipt: boolean; problem?: TimestampProblem } {
  const receivedAtS = Math.floor(receivedAtMs / 1_000);
  if (raw === undefined || raw === null) return { timestampS: receivedAtS, isReceipt: true };
  const number = typeof raw === 'bigint' ? Number(raw) : raw;
  if (typeof number !== 'number' || !Number.isFinite(number))
    return { timestampS: receivedAtS, isReceipt: true, problem: 'not_a_number' };
  const seconds = Math.floor(number > MILLISECONDS_FROM ? number / 1_000 : number);
  if (seconds < CLOCK_FROM_S) return { timestampS: receivedAtS, isReceipt: true };
  if (seconds * 1_000 > receivedAtMs + limits.futureToleranceMs)
    return { timestampS: receivedAtS, isReceipt: true, problem: 'future' };
  // Seen only while the box has no clock either.
  if (seconds >= LIMITS.telemetry.timeEndS) return { timestampS: receivedAtS, isReceipt: true };
  const isLate = (nowMs: EpochMs): boolean => seconds * 1_000 < nowMs - limits.lateMs;
  if (isLate(receivedAtMs) && isLate(proven?.nowMs() ?? receivedAtMs))
    return { timestampS: seconds, isReceipt: false, problem: 'late' };
  return { timestampS: seconds, isReceipt: false };
}

/** Why a value was dropped, with a sentence for the device's log. */
export interface Rejection {
  reason: 'wrong_type' | 'not_in_enum' | 'too_large' | 'schema_mismatch';
  message: string;
}

export function isRejection(value: unknown): value is Rejection {
  return typeof value === 'object' && value !== null && REJECTION in value;
}

const REJECTION = Symbol('rejection');

function reject(reason: Rejection['reason'], message: string): Rejection {
  return { reason, message, [REJECTION]: true } as Rejection;
}

/**
 * The value as it is stored, or why it is not. `null` is no value and must be handled before. One string is one alert, an
 * empty one none: published scripts leave out the list.
 */
export function checkValue(type: TelemetryType, raw: unknown): TelemetryValue | Rejection {
  switch (type) {
    case 'float':
      return checkFloat(raw);
    case 'integer':
      return checkInteger(raw);
    case 'boolean':
      return typeof raw === 'boolean' ? raw : wrongType(type, raw);
    case 'string':
      if (typeof raw !== 'string') return wrongType(type, raw);
      return fits(raw, LIMITS.telemetry.stringBytes) ? raw : tooLarge(LIMITS.telemetry.stringBytes);
    case 'array_of_strings':
      return checkStrings(type, raw);
    case 'alerts':
      return checkStrings(type, typeof raw === 'string' ? (raw === '' ? [] : [raw]) : raw);
    case 'json':
    case 'object':
      return checkJson(raw);
  }
}

const NOT_FINITE = reject('wrong_type', 'The number is not finite.');
const TOO_LARGE_INTEGER = reject('too_large', 'The integer does not fit into 64 bits.');

function checkFloat(raw: unknown): number | Rejection {
  const value = typeof raw === 'bigint' ? Number(raw) : raw;
  if (typeof value !== 'number') return wrongType('float', raw);
  return Number.isFinite(value) ? value : NOT_FINITE;
}

/**
 * A float without a fraction is an integer. Beyond 2^53 a `number` was written as a float (`1e18`) and counts as what
 * that float holds: integer literals of that size come as `bigint` (see `parseExactJson`).
 */
function checkInteger(raw: unknown): number | bigint | Rejection {
  // Adding zero turns -0 into 0: an integer has one zero.
  if (Number.isSafeInteger(raw)) return (raw as number) + 0;
  if (typeof raw === 'number') {
    if (!Number.isFinite(raw)) return NOT_FINITE;
    if (!Number.isInteger(raw)) return wrongType('integer', raw);
  } else if (typeof raw !== 'bigint') return wrongType('integer', raw);
  const exact = BigInt(raw);
  if (!isInt64(exact)) return TOO_LARGE_INTEGER;
  const small = Number(exact);
  return Number.isSafeInteger(small) ? small : exact;
}

function checkStrings(type: 'array_of_strings' | 'alerts', raw: unknown): readonly string[] | Rejection {
  if (!Array.isArray(raw)) return wrongType(type, raw);
  const { arrayItems, stringBytes, jsonBytes } = LIMITS.telemetry;
  if (raw.length > arrayItems) return reject('too_large', `The array has more than ${arrayItems} items.`);
  let sizeBytes = 0;
  for (const item of raw as unknown[]) {
    if (typeof item !== 'string') return wrongType(type, raw);
    if (!fits(item, stringBytes)) return tooLarge(stringBytes);
    sizeBytes += item.length;
  }
  return sizeBytes > jsonBytes * 4 ? tooLarge(jsonBytes * 4) : (raw as string[]);
}

function checkJson(raw: unknown): JsonValue | Rejection {
  if (raw === undefined) return wrongType('json', raw);
  const unstorable = unstorableNumber(raw);
  if (unstorable) return unstorable.isInteger ? TOO_LARGE_INTEGER : NOT_FINITE;
  return fits(exactJson(raw), LIMITS.telemetry.jsonBytes)
    ? (raw as JsonValue)
    : tooLarge(LIMITS.telemetry.jsonBytes);
}

function wrongType(type: TelemetryType, raw: unknown): Rejection {
  return reject('wrong_type', `The value must be of type ${type}, not ${nameOf(raw)}.`);
}

function tooLarge(limitBytes: number): Rejection {
  return reject('too_large', `The value has more than ${limitBytes} bytes.`);
}

export function notInEnum(raw: unknown): Rejection {
  return reject('not_in_enum', `The value ${exactJson(raw).slice(0, 100)} is not in the declared enum.`);
}

export function schemaMismatch(message: string): Rejection {
  return reject('schema_mismatch', message);
}

function nameOf(raw: unknown): string {
  if (raw === null) return 'null';
  return Array.isArray(raw) ? 'array' : typeof raw;
}

/** UTF-16 length bounds UTF-8 length from both sides, so that most texts need no counting. */
function fits(text: string, limitBytes: number): boolean {
  if (text.length * 3 <= limitBytes) return true;
  return text.length <= limitBytes && Buffer.byteLength(text) <= limitBytes;
}
