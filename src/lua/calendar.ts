/**
 * Calendar of one time zone for Lua's `os.time` and `os.date`: what mktime, localtime and strftime (C11 7.27,
 * locale "C") are to the C library.
 */
import type { DurationS, EpochMs, EpochS } from '../lib/time.ts';
import { LuaError } from './values.ts';

/** As in the table of `os.date('*t')`: months and weekdays from 1, Sunday first. */
interface CalendarFields {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  weekday: number;
  yearDay: number;
  isSummerTime: boolean;
  offsetS: DurationS;
}

const DAY_S = 86_400;
const NS_PER_S = 1_000_000_000;
const MS_PER_S = 1_000;
/** The range of Temporal: 100 million days around 1970. */
const EPOCH_S_MAX = 8_640_000_000_000;

/** @throws RangeError for an unknown zone */
export function calendarFields(epochS: EpochS, zone: string): CalendarFields {
  if (!Number.isFinite(epochS) || Math.abs(epochS) > EPOCH_S_MAX)
    throw new LuaError('date result cannot be represented in this installation');
  const time = Temporal.Instant.fromEpochMilliseconds(Math.floor(epochS) * MS_PER_S).toZonedDateTimeISO(zone);
  const offsetS = time.offsetNanoseconds / NS_PER_S;
  return {
    year: time.year,
    month: time.month,
    day: time.day,
    hour: time.hour,
    minute: time.minute,
    second: time.second,
    weekday: (time.dayOfWeek % 7) + 1,
    yearDay: time.dayOfYear,
    isSummerTime: offsetS > standardOffsetS(time),
    offsetS,
  };
}

/** The smaller of the offsets in January and July: standard time in both hemispheres. */
function standardOffsetS(time: Temporal.ZonedDateTime): DurationS {
  const offsets = [1, 7].map((month) => time.with({ month, day: 1, hour: 12 }).offsetNanoseconds / NS_PER_S);
  return Math.min(...offsets);
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
 * a zone skips is moved forward by the gap; of one that occurs twice, `isSummerTime` decides, else the first
 * counts.
 */
export function epochOf(
  fields: Pick<CalendarFields, 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second'>,
  isSummerTime: boolean | undefined,
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
  const disambiguation = isSummerTime === false ? 'later' : 'compatible';
  return Math.floor(civil.toZonedDateTime(zone, { disambiguation }).epochMilliseconds / MS_PER_S);
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];

type Conversion = (fields: CalendarFields, epochS: EpochS, zone: string) => string;

const padded = (value: number, width: number, fill = '0'): string => String(value).padStart(width, fill);
const dayName = ({ weekday }: CalendarFields): string => DAYS[weekday - 1] ?? '?';
const monthName = ({ month }: CalendarFields): string => MONTHS[month - 1] ?? '?';
const short = (name: string): string => name.slice(0, 3);
const hour12 = ({ hour }: CalendarFields): number => hour % 12 || 12;

const CONVERSIONS: Record<string, Conversion> = {
  a: (fields) => short(dayName(fields)),
  A: dayName,
  b: (fields) => short(monthName(fields)),
  B: monthName,
  c: composed('%a %b %e %H:%M:%S %Y'),
  C: ({ year }) => padded(Math.floor(year / 100), 2),
  d: ({ day }) => padded(day, 2),
  D: composed('%m/%d/%y'),
  e: ({ day }) => padded(day, 2, ' '),
  F: composed('%Y-%m-%d'),
  g: (fields) => padded(isoWeek(fields).year % 100, 2),
  G: (fields) => String(isoWeek(fields).year),
  h: (fields) => short(monthName(fields)),
  H: ({ hour }) => padded(hour, 2),
  I: (fields) => padded(hour12(fields), 2),
  j: ({ yearDay }) => padded(yearDay, 3),
  m: ({ month }) => padded(month, 2),
  M: ({ minute }) => padded(minute, 2),
  n: () => '\n',
  p: ({ hour }) => (hour < 12 ? 'AM' : 'PM'),
  r: composed('%I:%M:%S %p'),
  R: composed('%H:%M'),
  s: (_fields, epochS) => String(Math.floor(epochS)),
  S: ({ second }) => padded(second, 2),
  t: () => '\t',
  T: composed('%H:%M:%S'),
  u: ({ weekday }) => String(weekday === 1 ? 7 : weekday - 1),
  U: ({ yearDay, weekday }) => padded(Math.floor((yearDay + 6 - (weekday - 1)) / 7), 2),
  V: (fields) => padded(isoWeek(fields).week, 2),
  w: ({ weekday }) => String(weekday - 1),
  W: ({ yearDay, weekday }) => padded(Math.floor((yearDay + 6 - ((weekday + 5) % 7)) / 7), 2),
  x: composed('%m/%d/%y'),
  X: composed('%H:%M:%S'),
  y: ({ year }) => padded(((year % 100) + 100) % 100, 2),
  Y: ({ year }) => String(year),
  z: ({ offsetS: seconds }) => {
    const minutes = Math.abs(Math.trunc(seconds / 60));
    return `${seconds < 0 ? '-' : '+'}${padded(Math.floor(minutes / 60), 2)}${padded(minutes % 60, 2)}`;
  },
  Z: (_fields, epochS, zone) => zoneName(epochS, zone),
  '%': () => '%',
};

const CONVERSION = /%(E[cCxXyY]|O[deHImMSuUVwWy]|.|$)/gs;

/** @throws LuaError for a conversion that C does not know */
export function formatTime(format: string, epochS: EpochS, zone: string): string {
  const fields = calendarFields(epochS, zone);
  return format.replace(CONVERSION, (whole, name: string) => {
    const conversion = CONVERSIONS[name.at(-1) ?? ''];
    if (!conversion)
      throw new LuaError(`bad argument #1 to 'date' (invalid conversion specifier '${whole}')`);
    return conversion(fields, epochS, zone);
  });
}

function composed(format: string): Conversion {
  return (_fields, epochS, zone) => formatTime(format, epochS, zone);
}

/** ISO 8601 week: week 1 holds the first Thursday of its year. */
function isoWeek({ year, month, day }: CalendarFields): { year: number; week: number } {
  const date = Temporal.PlainDate.from({ year, month, day });
  return { year: date.yearOfWeek ?? year, week: date.weekOfYear ?? 0 };
}

function zoneName(epochS: EpochS, zone: string): string {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'short' }).formatToParts(
    epochS * MS_PER_S,
  );
  return parts.find(({ type }) => type === 'timeZoneName')?.value ?? zone;
}
