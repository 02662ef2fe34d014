/**
 * A day, a week, a month or a year where the site is, as it stands in an address: `2026-11-22`, `2026-W47`, `2026-11` or
 * `2026`. Weeks are those of ISO 8601: they begin on Mondays, the first one has the first Thursday. Pure.
 */
import type { DurationMs, EpochMs } from '../lib/time.ts';
import { clockOf, timesAs } from './zone.ts';

export const UNITS = ['day', 'week', 'month', 'year'] as const;
export type Unit = (typeof UNITS)[number];

const FORMS: Readonly<Record<Unit, RegExp>> = {
  day: /^\d{4}-\d{2}-\d{2}$/,
  week: /^\d{4}-W(?:0[1-9]|[1-4]\d|5[0-3])$/,
  month: /^\d{4}-\d{2}$/,
  year: /^\d{4}$/,
};
/** Letters of those that begin the name of a day. */
const LENGTH = { day: 10, month: 7, year: 4 } as const;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 7;

/** Name of a period; the date is in UTC and stands for a day of the site. */
function nameOf(unit: Unit, date: Date): string {
  if (unit !== 'week') return date.toISOString().slice(0, LENGTH[unit]);
  const thursday = new Date(date.getTime() + (3 - mondaysOf(date)) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const week = 1 + Math.floor((thursday.getTime() - Date.UTC(year, 0, 1)) / (WEEK_DAYS * DAY_MS));
  return `${year}-W${String(week).padStart(2, '0')}`;
}

/** Days since the last Monday. */
const mondaysOf = (date: Date): number => (date.getUTCDay() + WEEK_DAYS - 1) % WEEK_DAYS;

/** Its first day, as one of UTC. */
function firstDayOf(period: string): Date {
  if (unitOf(period) !== 'week') {
    const [year = 1970, month = 1, day = 1] = period.split('-').map(Number);
    return new Date(Date.UTC(year, month - 1, day));
  }
  // The fourth of January is in the first week.
  const [year = 1970, week = 1] = period.split('-W').map(Number);
  const fourth = new Date(Date.UTC(year, 0, 4));
  return new Date(fourth.getTime() + ((week - 1) * WEEK_DAYS - mondaysOf(fourth)) * DAY_MS);
}

export function periodAt(unit: Unit, atMs: EpochMs, zone: string | undefined): string {
  const { year, month, day } = clockOf(atMs, zone);
  return nameOf(unit, firstDayOf(`${year}-${month}-${day}`));
}

/** Undefined: it names none. */
export function unitOf(period: string | undefined): Unit | undefined {
  const unit = UNITS.find((one) => FORMS[one].test(period ?? ''));
  return unit !== 'week' && Number.isNaN(Date.parse(period ?? '')) ? undefined : unit;
}

/** So many days, weeks, months or years later. */
export function periodLater(period: string, by: number): string {
  const date = firstDayOf(period);
  const unit = unitOf(period) ?? 'day';
  if (unit === 'day') date.setUTCDate(date.getUTCDate() + by);
  if (unit === 'week') date.setUTCDate(date.getUTCDate() + by * WEEK_DAYS);
  if (unit === 'month') date.setUTCMonth(date.getUTCMonth() + by);
  if (unit === 'year') date.setUTCFullYear(date.getUTCFullYear() + by);
  return nameOf(unit, date);
}

/** Where it begins and ends, [fromMs, toMs). */
export function edgesOf(period: string, zone: string | undefined): [fromMs: EpochMs, toMs: EpochMs] {
  return [beginMs(period, zone), beginMs(periodLater(period, 1), zone)];
}

/** `22 Nov 2026`, `16 – 22 Nov 2026`, `November 2026`, `2026` */
export function periodText(period: string): string {
  const first = firstDayOf(period);
  const unit = unitOf(period) ?? 'day';
  const format = {
    day: { dateStyle: 'medium' },
    week: { day: 'numeric', month: 'short', year: 'numeric' },
    month: { month: 'long', year: 'numeric' },
    year: { year: 'numeric' },
  } as const;
  const written = timesAs(format[unit], 'UTC');
  return unit === 'week'
    ? written.formatRange(first, first.getTime() + (WEEK_DAYS - 1) * DAY_MS)
    : written.format(first);
}

/** Its first instant: midnight, or what comes where clocks leave midnight out. */
function beginMs(period: string, zone: string | undefined): EpochMs {
  const midnightMs = firstDayOf(period).getTime();
  const first = nameOf('day', new Date(midnightMs));
  const guessMs = midnightMs - aheadMs(midnightMs, zone);
  const betterMs = midnightMs - aheadMs(guessMs, zone);
  const isIn = (atMs: EpochMs): boolean => periodAt('day', atMs, zone) === first;
  return isIn(betterMs) ? betterMs : Math.max(guessMs, betterMs);
}

/** By how much clocks of the zone are ahead of those of UTC. */
function aheadMs(atMs: EpochMs, zone: string | undefined): DurationMs {
  const { year, month, day, hour, minute } = clockOf(atMs, zone);
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}Z`) - atMs;
}
