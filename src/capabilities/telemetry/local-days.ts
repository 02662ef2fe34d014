/** Days of a time zone as instants: they have 23 to 25 hours, and a few begin later than at midnight. */
import { DAY_S, type DurationS, type EpochS } from '../../lib/time.ts';

/** No zone is farther from UTC. */
const OFFSET_MAX_S = 15 * 3_600;
/** 9999-12-31, after every range; calendars end some time after it. */
const LAST_DAY = 2_932_896;

/**
 * Edges of buckets of whole local days that touch [fromS, toS): the start of each, and the end of the last. Buckets of
 * several days are counted from 1970-01-01, as those of UTC are. Undefined when the granularity is not of whole days.
 */
export function localDayEdges(
  timeZone: string,
  { fromS, toS, granularityS }: { fromS: EpochS; toS: EpochS; granularityS: DurationS },
): number[] | undefined {
  const days = granularityS / DAY_S;
  if (!Number.isInteger(days)) return undefined;
  const dayOf = localDayOf(timeZone);
  const edges: number[] = [];
  /** Until then the offset of the zone does not change. */
  let steadyUntilS: EpochS = Number.NEGATIVE_INFINITY;
  for (let day = Math.floor(dayOf(fromS) / days) * days; ; day += days) {
    if (day > LAST_DAY) return [...edges, LAST_DAY * DAY_S];
    const usualS = (edges.at(-1) ?? Number.NaN) + granularityS;
    const isSteady = usualS < steadyUntilS;
    // The calendar of a zone is slow, and almost every day is as long as the one before.
    const isUsual = isSteady || (dayOf(usualS - 1) < day && dayOf(usualS) >= day);
    // A day that begins with a change, as where midnight is skipped, says nothing of the next one.
    if (isUsual && !isSteady) steadyUntilS = nextChangeS(timeZone, usualS - 1);
    const startS = isUsual ? usualS : startOfDay(day, dayOf);
    // A day that the zone skipped begins together with the next one.
    if (startS !== edges.at(-1)) edges.push(startS);
    if (startS >= toS) return edges;
  }
}

/** The next change of the zone's offset after this second; infinite when there is none. */
function nextChangeS(timeZone: string, atS: EpochS): EpochS {
  const at = new Temporal.ZonedDateTime(BigInt(atS) * 1_000_000_000n, timeZone);
  return (at.getTimeZoneTransition('next')?.epochMilliseconds ?? Number.POSITIVE_INFINITY) / 1_000;
}

/** Days since 1970-01-01 by the calendar of the zone. */
function localDayOf(timeZone: string): (atS: EpochS) => number {
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  });
  return (atS) => {
    if (Number.isNaN(atS)) return Number.NaN;
    const [month, day, year] = format
      .format(atS * 1_000)
      .split('/')
      .map(Number);
    return Date.UTC(year ?? Number.NaN, (month ?? Number.NaN) - 1, day) / 1_000 / DAY_S;
  };
}

/** The first second of the day, also where its midnight is skipped. */
function startOfDay(day: number, dayOf: (atS: EpochS) => number): number {
  let before = day * DAY_S - OFFSET_MAX_S;
  let within = day * DAY_S + OFFSET_MAX_S;
  while (within - before > 1) {
    const middle = Math.floor((before + within) / 2);
    if (dayOf(middle) >= day) within = middle;
    else before = middle;
  }
  return within;
}
