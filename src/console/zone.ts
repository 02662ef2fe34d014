/** The time zone in which moments are shown: that of the site as soon as it is known, that of the browser before. */
import { signal } from '@preact/signals';
import type { EpochMs } from '../lib/time.ts';
import { locale } from './words/index.ts';

/** IANA name. */
export const zone = signal<string | undefined>(undefined);

/** The zone of a person's own clock. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** G: days of a year on which clocks of different zones differ, if they do at all. */
const LOOKED_AT = Array.from({ length: 12 }, (_, month) => Date.UTC(new Date().getUTCFullYear(), month, 1));

/** Whether clocks there show what the person's own shows: a zone has more than one name, and neighbours the same time. */
export function isOwnTime(timeZone: string): boolean {
  const [there, here] = [timeZone, ownZone()].map((name) =>
    timeFormat('en-GB', { timeZone: name, dateStyle: 'short', timeStyle: 'short' }),
  );
  return LOOKED_AT.every((atMs) => there?.format(atMs) === here?.format(atMs));
}

/** Whether a person's own clock shows other times than the console. */
export const isOtherZone = (): boolean => zone.value !== undefined && !isOwnTime(zone.value);

const formats = new Map<string, Intl.DateTimeFormat>();

/** The same for the same: one is made in the time in which it writes hundreds of moments. */
export function timeFormat(language: string, format: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([language, format]);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(language, format);
  formats.set(key, known);
  return known;
}

type ClockPart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second';

/** What calendar and clock show in a zone, in digits, apart: browsers do not put them together in the same way. */
export function clockOf(atMs: EpochMs, timeZone: string | undefined): Readonly<Record<ClockPart, string>> {
  const parts = timeFormat('en-GB', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(atMs);
  return Object.fromEntries(parts.map(({ type, value }) => [type, value])) as Record<ClockPart, string>;
}

/** How moments are written where the site is, in the language of the reader. */
export function timesAs(format: Intl.DateTimeFormatOptions, timeZone = zone.value): Intl.DateTimeFormat {
  return timeFormat(locale, { ...format, timeZone });
}
