/**
 * Calendar of one time zone for Lua's `os.time` and `os.date`: what mktime, localtime and strftime (C11 7.27,
 * locale "C") are to the C library.
 */
import type { DurationS, EpochMs, EpochS } from '../../lib/time.ts';
import { LuaError } from './values.ts';

const DAY_S = 86_400;
const NS_PER_S = 1_000_000_000;
const MS_PER_S = 1_000;
/** The range of Temporal: 100 million days around 1970. */
const EPOCH_S_MAX = 8_640_000_000_000;

/** @throws RangeError for an unknown zone */
export function zonedTime(epochS: EpochS, zone: string): Temporal.ZonedDateTime {
  if (!Number.isFinite(epochS) || Math.abs(epochS) > EPOCH_S_MAX)
    throw new LuaError('date result cannot be represented in this installation');
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(epochS) * MS_PER_S).toZonedDateTimeISO(zone);
}

/** Ahead of the smaller of the offsets in January and July, which is standard time in both hemispheres. */
export function isSummerTime(time: Temporal.ZonedDateTime): boolean {
  const offsets = [1, 7].map((month) => time.with({ month, day: 1, hour: 12 }).offsetNanoseconds);
  return time.offsetNanoseconds > Math.min(...offsets);
}

const MINUTE_MS = 60_000;
let lastOffset = { zone: '', minute: Number.NaN, offsetS: 0 };

/**
 * Offset of the zone from UTC in seconds. The last one is remembered for its minute, because many scripts ask again and
 * again for now; since 1973 every zone has changed its offset at a whole minute.
 */
export function offsetS(epochMs: EpochMs, zone: string): DurationS {
  const minute = Math.floor(epochMs / MINUTE_MS);
  if (lastOffset.zone === zone && lastOffset.minute === minute) return lastOffset.offsetS;
  const instant = Temporal.Instant.fromEpochMilliseconds(Math.floor(epochMs));
  lastOffset = { zone, minute, offsetS: instant.toZonedDateTimeISO(zone).offsetNanoseconds / NS_PER_S };
  return lastOffset.offsetS;
}

/**
 * Seconds since 1970 of a civil time; fields may be out of their range and carry over, as in C. A time that
 * a zone skips is moved forward by the gap; of one that occurs twice, `isSummer` decides, else the first
 * counts.
 */
export function epochOf(
  fields: Pick<Temporal.ZonedDateTime, 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'>,
  isSummer: boolean | undefined,
  zone: string,
): number {
  const { year, month, day, hour, minute, second } = fields;
  const months = year * 12 + (month - 1);
  const date = new Date(0);
  date.setUTCFullYear(Math.floor(months / 12), ((months % 12) + 12) % 12, 1);
  const civilS = date.getTime() / MS_PER_S + (day - 1) * DAY_S + hour * 3_600 + minute * 60 + second;
  if (!(Math.abs(civilS) < EPOCH_S_MAX))
    throw new LuaError('time result cannot be represented in this installation');
  const civil = Temporal.Instant.fromEpochMilliseconds(civilS * MS_PER_S)
    .toZonedDateTimeISO('UTC')
    .toPlainDateTime();
  const disambiguation = isSummer === false ? 'later' : 'compatible';
  return Math.floor(civil.toZonedDateTime(zone, { disambiguation }).epochMilliseconds / MS_PER_S);
}

const DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');
const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);

type Conversion = (time: Temporal.ZonedDateTime) => string;

const padded = (value: number, width: number, fill = '0'): string => String(value).padStart(width, fill);
const dayName = ({ dayOfWeek }: Temporal.ZonedDateTime): string => DAYS[dayOfWeek - 1] ?? '?';
const monthName = ({ month }: Temporal.ZonedDateTime): string => MONTHS[month - 1] ?? '?';
const short = (name: string): string => name.slice(0, 3);

const CONVERSIONS: Record<string, Conversion> = {
  a: (time) => short(dayName(time)),
  A: dayName,
  b: (time) => short(monthName(time)),
  B: monthName,
  c: composed('%a %b %e %H:%M:%S %Y'),
  C: ({ year }) => padded(Math.floor(year / 100), 2),
  d: ({ day }) => padded(day, 2),
  D: composed('%m/%d/%y'),
  e: ({ day }) => padded(day, 2, ' '),
  F: composed('%Y-%m-%d'),
  g: ({ yearOfWeek = 0 }) => padded(yearOfWeek % 100, 2),
  G: ({ yearOfWeek }) => String(yearOfWeek),
  h: (time) => short(monthName(time)),
  H: ({ hour }) => padded(hour, 2),
  I: ({ hour }) => padded(hour % 12 || 12, 2),
  j: ({ dayOfYear }) => padded(dayOfYear, 3),
  m: ({ month }) => padded(month, 2),
  M: ({ minute }) => padded(minute, 2),
  n: () => '\n',
  p: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  r: composed('%I:%M:%S %p'),
  R: composed('%H:%M'),
  s: ({ epochMilliseconds }) => String(epochMilliseconds / MS_PER_S),
  S: ({ second }) => padded(second, 2),
  t: () => '\t',
  T: composed('%H:%M:%S'),
  u: ({ dayOfWeek }) => String(dayOfWeek),
  U: ({ dayOfYear, dayOfWeek }) => padded(Math.floor((dayOfYear + 6 - (dayOfWeek % 7)) / 7), 2),
  V: ({ weekOfYear = 0 }) => padded(weekOfYear, 2),
  w: ({ dayOfWeek }) => String(dayOfWeek % 7),
  W: ({ dayOfYear, dayOfWeek }) => padded(Math.floor((dayOfYear + 6 - (dayOfWeek - 1)) / 7), 2),
  x: composed('%m/%d/%y'),
  X: composed('%H:%M:%S'),
  y: ({ year }) => padded(((year % 100) + 100) % 100, 2),
  Y: ({ year }) => String(year),
  z: ({ offset }) => offset.slice(0, 6).replace(':', ''),
  Z: zoneName,
  '%': () => '%',
};

const CONVERSION = /%(E[cCxXyY]|O[deHImMSuUVwWy]|.|$)/gs;

/** @throws LuaError for a conversion that C does not know */
export function formatTime(format: string, time: Temporal.ZonedDateTime): string {
  return format.replace(CONVERSION, (whole, name: string) => {
    const conversion = CONVERSIONS[name.at(-1) ?? ''];
    if (!conversion)
      throw new LuaError(`bad argument #1 to 'date' (invalid conversion specifier '${whole}')`);
    return conversion(time);
  });
}

function composed(format: string): Conversion {
  return (time) => formatTime(format, time);
}

/** People there use the abbreviations of their zones; elsewhere the runtime says GMT+1. */
const LOCALES = ['en-US', 'en-GB', 'en-IE', 'en-AU', 'en-IN', 'en-ZA', 'en-HK', 'en-CA'];
/** Abbreviations that the runtime has in no locale, GMT for universal time as in C; the second one is that of summer. */
const ABBREVIATIONS: Readonly<Record<string, readonly [string, string?]>> = {
  'America/Havana': ['CST', 'CDT'],
  'Asia/Jakarta': ['WIB'],
  'Asia/Jayapura': ['WIT'],
  'Asia/Jerusalem': ['IST', 'IDT'],
  'Asia/Karachi': ['PKT'],
  'Asia/Macau': ['CST'],
  'Asia/Makassar': ['WITA'],
  'Asia/Manila': ['PST'],
  'Asia/Seoul': ['KST'],
  'Asia/Shanghai': ['CST'],
  'Asia/Taipei': ['CST'],
  'Asia/Tokyo': ['JST'],
  'Europe/Moscow': ['MSK'],
  GMT: ['GMT'],
};

/** As the C library names it: the abbreviation, or the offset of a zone that has none (`+03`). */
function zoneName(time: Temporal.ZonedDateTime): string {
  const { epochMilliseconds, timeZoneId: timeZone, offset } = time;
  const [standard, summer] = ABBREVIATIONS[timeZone] ?? [];
  if (standard !== undefined) return (isSummerTime(time) ? summer : undefined) ?? standard;
  for (const locale of LOCALES) {
    const format = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: 'short' });
    const name = format.formatToParts(epochMilliseconds).find(({ type }) => type === 'timeZoneName')?.value;
    if (name !== undefined && !/^GMT[+-]/.test(name)) return name;
  }
  return offset.slice(0, 6).replace(/:(?:00)?/, '');
}
