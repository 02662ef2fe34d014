/** The contracts of the site, one after another: prices of import and export per kilowatt hour. */
import { localDayEdges } from '../telemetry/index.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';

/** FIXED: at any time. TWO_RATE: another one at times of the week. DEVICE: as an attribute says. */
export const PRICE_KINDS = ['FIXED', 'TWO_RATE', 'DEVICE'] as const;

/** In the currency of the site per kWh, before VAT. */
export interface Price {
  kind: (typeof PRICE_KINDS)[number];
  /** Price of FIXED and TWO_RATE. */
  price: number | null;
  /** Other price of TWO_RATE, with its times such as `mon-fri 22:00-06:00, sat-sun`. */
  lowPrice: number | null;
  lowTimes: string | null;
  /** Device of a price of kind DEVICE. */
  deviceId: string | null;
  attribute: string | null;
  /** Added to each of them. */
  surchargePerKwh: number;
}

/** A contract; it ends where the next one begins. */
export interface Tariff {
  /** A day of the site's calendar: `2026-01-01`. */
  validFrom: string;
  importPrice: Price;
  /** Null: nothing is known of what an exported kWh brings. */
  exportPrice: Price | null;
  /** VAT on the import price, its surcharge and the standing charges. */
  vatPercent: number;
  standingChargePerDay: number;
  standingChargePerMonth: number;
}

/** The tariffs of the site, the oldest first. */
export interface TariffBook {
  /** ISO 4217; undefined until the owner has set it. */
  currency: string | undefined;
  items: readonly Tariff[];
}

const { quarterS: QUARTER_S } = LIMITS.energy;

const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const MINUTES = 1_440;
const TIMES =
  /^(?:(?<first>[a-z]{3})(?:-(?<last>[a-z]{3}))?)?\s*(?:(?<from>\d{1,2}:\d\d)-(?<to>\d{1,2}:\d\d))?$/;

/** Whether a weekday (0: Monday) and a minute of the day are within the times. */
type Within = (weekday: number, minute: number) => boolean;

/**
 * Times of the week such as `mon-fri 22:00-06:00, sat-sun`, each weekday for itself: Monday's are 0:00 to 6:00 and 22:00 to
 * 24:00. Undefined for a text that is none.
 */
export function weeklyTimes(text: string): Within | undefined {
  const windows = text.split(/[,;]/).map((part) => windowOf(part.trim().toLowerCase()));
  if (windows.includes(undefined)) return undefined;
  return (weekday, minute) => windows.some((within) => within?.(weekday, minute));
}

function windowOf(text: string): Within | undefined {
  const { first, last = first, from, to } = TIMES.exec(text)?.groups ?? {};
  if (first === undefined && from === undefined) return undefined;
  const [firstDay, lastDay] = [first ?? 'mon', last ?? 'sun'].map((day) => WEEKDAYS.indexOf(day));
  const [fromMinute, toMinute] = [minuteOf(from ?? '0:00'), minuteOf(to ?? '24:00')];
  if (firstDay === undefined || lastDay === undefined || firstDay < 0 || lastDay < 0) return undefined;
  if (fromMinute === undefined || toMinute === undefined) return undefined;
  const isDay = (weekday: number): boolean =>
    firstDay <= lastDay
      ? weekday >= firstDay && weekday <= lastDay
      : weekday >= firstDay || weekday <= lastDay;
  const isTime = (minute: number): boolean =>
    fromMinute <= toMinute
      ? minute >= fromMinute && minute < toMinute
      : minute >= fromMinute || minute < toMinute;
  return (weekday, minute) => isDay(weekday) && isTime(minute);
}

function minuteOf(text: string): number | undefined {
  const [hour = 0, minute = 0] = text.split(':').map(Number);
  const all = hour * 60 + minute;
  return minute < 60 && all <= MINUTES ? all : undefined;
}

/** Weekday and minute of the day on the clock of a zone, for each quarter of an hour of [fromS, toS). */
export function* wallQuarters(
  timeZone: string,
  fromS: EpochS,
  toS: EpochS,
): Generator<{ quarter: number; weekday: number; minute: number }> {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    weekday: 'short',
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  });
  const wallAt = (atS: EpochS): { weekday: number; minute: number } => {
    const parts = new Map(format.formatToParts(atS * 1_000).map(({ type, value }) => [type, value]));
    return {
      weekday: WEEKDAYS.indexOf((parts.get('weekday') ?? '').toLowerCase()),
      minute: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
    };
  };
  const edges = localDayEdges(timeZone, { fromS, toS, granularityS: MINUTES * 60 }) ?? [];
  for (const [index, startS] of edges.slice(0, -1).entries()) {
    const endS = edges[index + 1] as EpochS;
    const { weekday, minute: begin } = wallAt(startS);
    // Asking the calendar is slow, and only a day with a change of the clocks needs it.
    const isPlain = endS - startS === MINUTES * 60 && begin === 0;
    for (
      let quarter = Math.ceil(Math.max(startS, fromS) / QUARTER_S);
      quarter * QUARTER_S < Math.min(endS, toS);
      quarter++
    ) {
      const atS = quarter * QUARTER_S;
      yield { quarter, ...(isPlain ? { weekday, minute: (atS - startS) / 60 } : wallAt(atS)) };
    }
  }
}
