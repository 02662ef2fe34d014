/** The time zone in which moments are shown: that of the site as soon as it is known, that of the browser before. */
import { signal } from '@preact/signals';
import { locale } from './words/index.ts';

/** IANA name. */
export const zone = signal<string | undefined>(undefined);

/** The zone of a person's own clock. */
export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Whether a person's own clock shows other times than the console. */
export function isOtherZone(): boolean {
  return zone.value !== undefined && zone.value !== ownZone();
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** The same for the same: one is made in the time in which it writes hundreds of moments. */
export function timeFormat(language: string, format: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = JSON.stringify([language, format]);
  const known = formats.get(key) ?? new Intl.DateTimeFormat(language, format);
  formats.set(key, known);
  return known;
}

/** How moments are written where the site is, in the language of the reader. */
export function timesAs(format: Intl.DateTimeFormatOptions, timeZone = zone.value): Intl.DateTimeFormat {
  return timeFormat(locale, { ...format, timeZone });
}
