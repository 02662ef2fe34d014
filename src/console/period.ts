/** A day, a month or a year where the site is, as it stands in an address: `2026-11-22`, `2026-11` or `2026`. Pure. */
import type { DurationMs, EpochMs } from '../lib/time.ts';
import { timeFormat, timesAs } from './zone.ts';

export const UNITS = ['day', 'month', 'year'] as const;
export type Unit = (typeof UNITS)[number];

/** Letters of its name. */
const LENGTH: Readonly<Record<Unit, number>> = { day: 10, month: 7, year: 4 };

export function periodAt(unit: Unit, atMs: EpochMs, zone: string | undefined): string {
  // In parts: browsers are not of one mind about how a short date is put together.
  const parts = timeFormat('en-GB', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).formatToParts(atMs);
  const part = (type: string): string => parts.find((one) => one.type === type)?.value ?? '';
  return `${part('year')}-${part('month')}-${part('day')}`.slice(0, LENGTH[unit]);
}

/** Undefined: it names none. */
export function unitOf(period: string | undefined): Unit | undefined {
  if (period === undefined || !/^\d{4}(-\d{2}(-\d{2})?)?$/.test(period)) return undefined;
  if (Number.isNaN(Date.parse(period))) return undefined;
  return UNITS.find((unit) => LENGTH[unit] === period.length);
}

/** So many days, months or years later. */
export function periodLater(period: string, by: number): string {
  const [year, month, day] = numbersOf(period);
  const unit = unitOf(period) ?? 'day';
  const date = new Date(Date.UTC(year, month - 1, day));
  if (unit === 'day') date.setUTCDate(day + by);
  if (unit === 'month') date.setUTCMonth(month - 1 + by);
  if (unit === 'year') date.setUTCFullYear(year + by);
  return date.toISOString().slice(0, LENGTH[unit]);
}

/** Where it begins and ends, [fromMs, toMs). */
export function edgesOf(period: string, zone: string | undefined): [fromMs: EpochMs, toMs: EpochMs] {
  return [beginMs(period, zone), beginMs(periodLater(period, 1), zone)];
}

/** `22 Nov 2026`, `November 2026`, `2026` */
export function periodText(period: string): string {
  const [year, month, day] = numbersOf(period);
  const format = {
    day: { dateStyle: 'medium' },
    month: { month: 'long', year: 'numeric' },
    year: { year: 'numeric' },
  } as const;
  return timesAs(format[unitOf(period) ?? 'day'], 'UTC').format(Date.UTC(year, month - 1, day));
}

function numbersOf(period: string): [year: number, month: number, day: number] {
  const [year = 1970, month = 1, day = 1] = period.split('-').map(Number);
  return [year, month, day];
}

/** Its first instant: midnight, or what comes where clocks leave midnight out. */
function beginMs(period: string, zone: string | undefined): EpochMs {
  const [year, month, day] = numbersOf(period);
  const midnightMs = Date.UTC(year, month - 1, day);
  const first = new Date(midnightMs).toISOString().slice(0, LENGTH.day);
  const guessMs = midnightMs - aheadMs(midnightMs, zone);
  const betterMs = midnightMs - aheadMs(guessMs, zone);
  const isIn = (atMs: EpochMs): boolean => periodAt('day', atMs, zone) === first;
  return isIn(betterMs) ? betterMs : Math.max(guessMs, betterMs);
}

/** By how much clocks of the zone are ahead of those of UTC. */
function aheadMs(atMs: EpochMs, zone: string | undefined): DurationMs {
  const parts = timeFormat('en-CA', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  }).formatToParts(atMs);
  const part = (type: string): number => Number(parts.find((one) => one.type === type)?.value);
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute')) - atMs;
}
