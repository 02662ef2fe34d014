/**
 * Instants of the interface. Out: RFC 3339 in UTC with `Z` and three fraction digits. In: RFC 3339 with
 * any offset and 0 to 9 fraction digits, `T` or blank, and without an offset UTC (docs/interface/http.md#values).
 */
import type { EpochMs } from './time.ts';

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt ](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:([Zz])|([+-])(\d{2}):(\d{2}))?$/;

const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

export function formatTimestamp(epochMs: EpochMs): string {
  return new Date(epochMs).toISOString();
}

const UNIX_SECONDS = /^\d{1,12}(?:\.\d{0,9})?$/;

/** What requests may say of a moment: RFC 3339, or Unix seconds as a number or text. `undefined`: neither. */
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
