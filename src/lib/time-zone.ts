/** Names of time zones. */

const NAME = /^[A-Za-z][A-Za-z0-9_+/-]*$/;

/**
 * The IANA name in its own spelling, whatever the case; undefined for anything else. Links such as Asia/Calcutta stay
 * what they are. Offsets are none: readers with the IANA tables, such as Python's `zoneinfo`, fail on them.
 */
export function canonicalTimeZone(name: string): string | undefined {
  if (!NAME.test(name)) return undefined;
  try {
    return new Temporal.ZonedDateTime(0n, name).timeZoneId;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
