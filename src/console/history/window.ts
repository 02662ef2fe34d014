/** The time range of a chart, as it stands in the address. */
import type { EpochS } from '../../lib/time.ts';
import { say } from '../words/index.ts';

export const RANGES = [
  { name: 'hour', text: say.history.hour, lengthS: 3_600 },
  { name: 'day', text: say.history.day, lengthS: 86_400 },
  { name: 'week', text: say.history.week, lengthS: 7 * 86_400 },
  { name: 'month', text: say.history.month, lengthS: 30 * 86_400 },
  { name: 'year', text: say.history.year, lengthS: 365 * 86_400 },
] as const;

export interface Window {
  fromS: EpochS;
  toS: EpochS;
  /** It ends now and moves with the time. */
  isLive: boolean;
  /** The range before is drawn with it. */
  isCompared: boolean;
}

const COMPARED = '+before';

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 86_400];
/** As many points as a screen shows. */
const POINTS_MAX = 500;
/** A shorter range shows nothing more. */
const LENGTH_MIN_S = 60;

/**
 * `day` for the last 24 hours, `1772352000-1772438400` for a fixed range; anything else is the last hour. With `+before`
 * at the end the range before is drawn too.
 */
export function windowOf(text: string | undefined, nowS: EpochS): Window {
  const isCompared = text?.endsWith(COMPARED) === true;
  const stretch = stretchOf(text);
  const [, from, to] = /^(\d{1,10})-(\d{1,10})$/.exec(stretch) ?? [];
  if (from !== undefined && Number(to) > Number(from))
    return { fromS: Number(from), toS: Number(to), isLive: false, isCompared };
  const range = RANGES.find(({ name }) => name === stretch) ?? RANGES[0];
  const toS = Math.ceil(nowS);
  // A clock that is not set begins in 1970, before which there is nothing to ask for.
  return { fromS: Math.max(0, toS - range.lengthS), toS, isLive: true, isCompared };
}

/** Without the mark of a comparison. */
export function stretchOf(text: string | undefined): string {
  return (text ?? RANGES[0].name).replace(COMPARED, '');
}

export const withBefore = (stretch: string, isCompared: boolean): string =>
  `${stretch}${isCompared ? COMPARED : ''}`;

export function textOfWindow(fromS: EpochS, toS: EpochS): string {
  const from = Math.max(0, Math.floor(fromS));
  return `${from}-${Math.max(Math.ceil(toS), from + LENGTH_MIN_S)}`;
}

/** The range before or after; one that would reach beyond now becomes live again if it has one of the usual lengths. */
export function shifted({ fromS, toS }: Window, by: -1 | 1, nowS: EpochS): string {
  const lengthS = toS - fromS;
  const range = RANGES.find((one) => one.lengthS === lengthS);
  if (by > 0 && toS + lengthS >= nowS && range) return range.name;
  return textOfWindow(fromS + by * lengthS, toS + by * lengthS);
}

/** Shorter or longer around its middle; a range that ends about now ends now, so that the newest values stay. */
export function zoomed({ fromS, toS }: Window, by: number, nowS: EpochS): string {
  const lengthS = (toS - fromS) * by;
  const isNewest = toS + (toS - fromS) / 10 >= nowS;
  const endS = isNewest ? nowS : (fromS + toS + lengthS) / 2;
  return textOfWindow(endS - lengthS, endS);
}

/** Seconds of one point. */
export function stepOf({ fromS, toS }: Window): number {
  const least = (toS - fromS) / POINTS_MAX;
  return STEPS_S.find((stepS) => stepS >= least) ?? Math.ceil(least / 86_400) * 86_400;
}
