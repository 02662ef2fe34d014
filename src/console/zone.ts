/** The time zone in which moments are shown: that of the site as soon as it is known, that of the browser before. */
import { signal } from '@preact/signals';
import type { EpochMs } from '../lib/time.ts';
import { locale } from './words/index.ts';

/** IANA name. */
export const zone = signal<string | undefined>(undefined);

/** The time zone of the browser. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** G: days of a year on which clocks of different zones differ, if they do at all. */
const LOOKED_AT = Array.from({ length: 12 }, (_, month) => Date.UTC(new Date().getUTCFullYear(), month, 1));

/** Whether clocks there show the same as the browser's: a zone has several names, and neighbours have the same time. */
export function isOwnTime(timeZone: string): boolean {
  const [there, here] = [timeZone, ownZone()].map((name) =>
    timeFormat('en-GB', { timeZone: name, dateStyle: 'short', timeStyle: 'short' }),
  );
  return LOOKED_AT.every((atMs) => there?.format(atMs) === here?.format(atMs));
}

/** Whether the browser's clock shows other times than the console. */
export const isOtherZone = (): boolean => zone.value !== undefined && !isOwnTime(zone.value);

const formats = new Map<string, Intl.DateTimeFormat>();

/** Kept, because making one takes as long as formatting hundreds of moments. */
function timeFormat(language: string, format: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([language, format]);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(language, format);
  formats.set(key, known);
  return known;
}

type ClockPart = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second';

/** Date and time in a zone as separate digits, because browsers do not join them in the same way. */
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

/** Formats moments in the site's time zone and the reader's language. */
export function timesAs(format: Intl.DateTimeFormatOptions, timeZone = zone.value): Intl.DateTimeFormat {
  return timeFormat(locale, { ...format, timeZone });
}
