/** Hours, days, months and years in the time zone of the site, where a day has 23 to 25 hours. */
import type { EpochS } from '../../lib/time.ts';
import { localDayEdges } from '../telemetry/index.ts';

export const GRANULARITIES = ['hour', 'day', 'month', 'year'] as const;
export type Granularity = (typeof GRANULARITIES)[number];

/** [fromS, toS) in Unix seconds. */
export interface Bucket {
  fromS: EpochS;
  toS: EpochS;
}

export interface LocalDay extends Bucket {
  /** Edges of its parts: of hours, some of which may be shorter, or of the whole day. */
  edgesS: EpochS[];
}

const DAY_S = 86_400;
const HOUR_S = 3_600;

/** The days that [fromS, toS) touches, in hours. */
export function daysOf(timeZone: string, fromS: EpochS, toS: EpochS): LocalDay[] {
  const edges = localDayEdges(timeZone, { fromS, toS, granularityS: DAY_S }) ?? [];
  return edges.slice(0, -1).map((startS, index) => {
    const endS = edges[index + 1] as number;
    const edgesS: EpochS[] = [];
    for (let atS = startS; atS < endS; atS += HOUR_S) edgesS.push(atS);
    return { fromS: startS, toS: endS, edgesS: [...edgesS, endS] };
  });
}

/** The day as one part, for buckets of whole days. */
export const asOnePart = ({ fromS, toS }: Bucket): LocalDay => ({ fromS, toS, edgesS: [fromS, toS] });

/** The whole hours, days, months or years that [fromS, toS) touches. */
export function bucketsOf(timeZone: string, granularity: Granularity, fromS: EpochS, toS: EpochS): Bucket[] {
  if (granularity === 'month' || granularity === 'year') return longOf(timeZone, granularity, fromS, toS);
  const days = daysOf(timeZone, fromS, toS);
  if (granularity === 'day') return days.map((day) => ({ fromS: day.fromS, toS: day.toS }));
  return days
    .flatMap(({ edgesS }) =>
      edgesS.slice(0, -1).map((atS, hour) => ({ fromS: atS, toS: edgesS[hour + 1] as number })),
    )
    .filter((hour) => hour.toS > fromS && hour.fromS < toS);
}

/** More than one on either side. */
const MARGINS_S = { month: 32 * DAY_S, year: 367 * DAY_S };

function longOf(timeZone: string, granularity: 'month' | 'year', fromS: EpochS, toS: EpochS): Bucket[] {
  const format = new Intl.DateTimeFormat('en-US-u-ca-gregory', {
    timeZone,
    year: 'numeric',
    month: granularity === 'month' ? 'numeric' : undefined,
  });
  const buckets: (Bucket & { name: string })[] = [];
  const marginS = MARGINS_S[granularity];
  for (const day of daysOf(timeZone, fromS - marginS, toS + marginS)) {
    const name = format.format(day.fromS * 1_000);
    const last = buckets.at(-1);
    if (last?.name === name) last.toS = day.toS;
    else buckets.push({ name, fromS: day.fromS, toS: day.toS });
  }
  return buckets
    .filter((bucket) => bucket.toS > fromS && bucket.fromS < toS)
    .map((bucket) => ({ fromS: bucket.fromS, toS: bucket.toS }));
}
