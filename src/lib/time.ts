/**
 * Times as types, so that the compiler refuses a duration where an instant belongs, one clock's reading for another's,
 * and seconds for milliseconds. A brand is a type alone: at run time there is a number. Literals and numbers from
 * outside (SQL, JSON, arithmetic) fit every brand; two brands never fit each other. What adds or subtracts times
 * gives a plain number, and so takes its brand from the declaration that receives it.
 */
type Time<Kind> = number & { readonly 'kind of time'?: Kind };

/** Wall clock: milliseconds since 1970, UTC. What is stored and shown. */
export type EpochMs = Time<'EpochMs'>;

/** Wall clock: seconds since 1970, UTC. */
export type EpochS = Time<'EpochS'>;

/** Monotonic clock: milliseconds since an arbitrary start. Deadlines within one run; never stored, never shown. */
export type MonotonicMs = Time<'MonotonicMs'>;

/** A length of time in milliseconds. */
export type DurationMs = Time<'DurationMs'>;

/** A length of time in seconds. */
export type DurationS = Time<'DurationS'>;

export const MINUTE_S: DurationS = 60;
/** A day of UTC. */
export const DAY_S: DurationS = 86_400;

/** The type of a limit by its name: limits of time are durations, except the end of time. */
type Limit<Name> = Name extends `${string}Ms` | `${string}MsMax` | `${string}MsMin`
  ? DurationMs
  : Name extends `${string}EndS`
    ? EpochS
    : Name extends `${string}S`
      ? DurationS
      : number;

/** A table of limits with any numbers; times have their brand. */
export type Numbers<T> = {
  readonly [Name in keyof T]: T[Name] extends number ? Limit<Name> : Numbers<T[Name]>;
};

// Durations of the interface: a sequence of decimal numbers with a unit (`1.5m`, `2h45m`, `1m0s`).
// Source: docs/interface/http.md#values (d = 24 h, y = 365 d, plain `0`).

const UNIT_MS: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  y: 31_536_000_000,
};

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h|d|y)/y;
const LENGTH_MAX = 64;

/** Milliseconds (with fraction, to the nanosecond) of a duration string; `undefined` when it is not one. */
export function parseDurationMs(text: string): DurationMs | undefined {
  if (text === '0') return 0;
  if (text.length === 0 || text.length > LENGTH_MAX) return undefined;
  let totalMs: DurationMs = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < text.length) {
    const match = PART.exec(text);
    if (!match) return undefined;
    totalMs += Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? Number.NaN);
  }
  return Number.isFinite(totalMs) ? toNanosecond(totalMs) : undefined;
}

/** Errors of floating point are smaller than that: 4.1 m are 246 s, not a little less. */
function toNanosecond(durationMs: DurationMs): number {
  return Number(durationMs.toFixed(6));
}

/** Canonical form as Go prints it: `0s`, `30s`, `1m0s`, `24h0m0s`, `500ms`, `1.5s`. */
export function formatDurationMs(exactMs: DurationMs): string {
  // Rounded first, so that no part rounds up to the next unit.
  const durationMs = toNanosecond(exactMs);
  if (durationMs === 0) return '0s';
  if (durationMs < 1)
    return durationMs < 1e-3 ? `${trim(durationMs * 1e6)}ns` : `${trim(durationMs * 1e3)}µs`;
  if (durationMs < 1_000) return `${trim(durationMs)}ms`;
  const hours = Math.floor(durationMs / 3_600_000);
  const minutes = Math.floor((durationMs % 3_600_000) / 60_000);
  const seconds = trim((durationMs % 60_000) / 1_000);
  if (hours > 0) return `${hours}h${minutes}m${seconds}s`;
  return minutes > 0 ? `${minutes}m${seconds}s` : `${seconds}s`;
}

/** At most nine decimals (a nanosecond of a second), no trailing zeros. */
function trim(value: number): string {
  return String(Number(value.toFixed(9)));
}

// Instants of the interface. Out: RFC 3339 in UTC with `Z` and three fraction digits. In: RFC 3339 with
// any offset and 0 to 9 fraction digits, `T` or blank, and without an offset UTC (docs/interface/http.md#values).

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d{2}):(\d{2}))?$/;

const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function formatTimestamp(epochMs: EpochMs): string {
  return new Date(epochMs).toISOString();
}

const UNIX_SECONDS = /^\d{1,12}(?:\.\d{0,9})?$/;

/** A moment of a request: RFC 3339, or Unix seconds as a number or text. `undefined`: neither. */
export function parseInstantMs(given: string | number): EpochMs | undefined {
  if (typeof given === 'number') return Number.isFinite(given) ? given * 1_000 : undefined;
  return UNIX_SECONDS.test(given) ? Number(given) * 1_000 : parseTimestampMs(given);
}

/** Milliseconds since 1970 (fraction kept); `undefined` when the text is no instant. */
export function parseTimestampMs(text: string): EpochMs | undefined {
  const match = RFC3339.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (month < 1 || month > 12 || day < 1 || day > (DAYS_IN_MONTH[month - 1] ?? 0)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCDate() !== day) return undefined;
  const offsetHours = Number(match[10] ?? 0);
  const offsetMinutes = Number(match[11] ?? 0);
  if (offsetHours > 23 || offsetMinutes > 59) return undefined;
  const offsetMs = (match[9] === '-' ? -1 : 1) * (offsetHours * 60 + offsetMinutes) * 60_000;
  const fractionMs = match[7] ? Number(`0.${match[7]}`) * 1_000 : 0;
  return date.getTime() + (hour * 3_600 + minute * 60 + second) * 1_000 + fractionMs - offsetMs;
}

// Names of time zones.

const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/**
 * The IANA name in its own spelling, whatever the case; undefined for anything else. Links such as Asia/Calcutta stay
 * what they are. Offsets are none: readers with the IANA tables, such as Python's `zoneinfo`, fail on them.
 */
export function canonicalTimeZone(name: string): string | undefined {
  if (!NAME.test(name)) return undefined;
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
