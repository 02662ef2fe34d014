/** The time zone in which moments are shown: that of the site as soon as it is known, that of the browser before. */
import { signal } from '@preact/signals';

/** IANA name. */
export const zone = signal<string | undefined>(undefined);

/** Whether a person's own clock shows other times than the console. */
export function isOtherZone(): boolean {
  return zone.value !== undefined && zone.value !== Intl.DateTimeFormat().resolvedOptions().timeZone;
}
