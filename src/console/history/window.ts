/** The time range of a chart, as it stands in the address. */
import type { EpochS } from '../../lib/time.ts';
import { edgesOf, periodAt, periodLater, unitOf, UNITS } from '../period.ts';

/** The last hour, and what the calendar of the site has. */
export const RANGES = ['hour', ...UNITS] as const;

const HOUR_S = 3_600;

export interface Window {
  fromS: EpochS;
  toS: EpochS;
  /** Where the range before begins, which ends with the begin of this one. */
  beforeS: EpochS;
  /** The day, week, month or year that it is. */
  period?: string;
  /** It has the present in it, and what it shows grows. */
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
 * `day` for the present day where the site is, `2026-11-22`, `2026-W47`, `2026-11` or `2026` for any period,
 * `1772352000-1772438400` for a fixed range; anything else is the last hour. With `+before` at the end the range before is
 * drawn too.
 */
export function windowOf(text: string | undefined, nowS: EpochS, zone: string | undefined): Window {
  const isCompared = text?.endsWith(COMPARED) === true;
  const stretch = stretchOf(text);
  const [, from, to] = /^(\d{1,10})-(\d{1,10})$/.exec(stretch) ?? [];
  if (from !== undefined && Number(to) > Number(from))
    return { ...rangeOf(Number(from), Number(to)), isLive: false, isCompared };
  const unit = UNITS.find((one) => one === stretch);
  const period = unit ? periodAt(unit, nowS * 1_000, zone) : unitOf(stretch) && stretch;
  if (period === undefined) {
    const toS = Math.ceil(nowS);
    return { ...rangeOf(toS - HOUR_S, toS), isLive: true, isCompared };
  }
  const [fromS, toS] = edgesOf(period, zone).map((edgeMs) => edgeMs / 1_000) as [EpochS, EpochS];
  const beforeS = edgesOf(periodLater(period, -1), zone)[0] / 1_000;
  return { ...rangeOf(fromS, toS), beforeS, period, isLive: fromS <= nowS && nowS < toS, isCompared };
}

/** A clock that is not set begins in 1970, before which there is nothing to ask for. */
const rangeOf = (fromS: EpochS, toS: EpochS): Pick<Window, 'fromS' | 'toS' | 'beforeS'> => ({
  fromS: Math.max(0, fromS),
  toS,
  beforeS: 2 * fromS - toS,
});

/** Without the mark of a comparison. */
export function stretchOf(text: string | undefined): string {
  return (text ?? RANGES[0]).replace(COMPARED, '');
}

export const withBefore = (stretch: string, isCompared: boolean): string =>
  `${stretch}${isCompared ? COMPARED : ''}`;

export function textOfWindow(fromS: EpochS, toS: EpochS): string {
  const from = Math.max(0, Math.floor(fromS));
  return `${from}-${Math.max(Math.ceil(toS), from + LENGTH_MIN_S)}`;
}

/** The range before or after; one that has the present in it is named by its length alone. */
export function shifted(
  { fromS, toS, period }: Window,
  by: -1 | 1,
  nowS: EpochS,
  zone: string | undefined,
): string {
  if (period !== undefined) return named(periodLater(period, by), nowS, zone);
  const lengthS = toS - fromS;
  if (by > 0 && toS + lengthS >= nowS && lengthS === HOUR_S) return RANGES[0];
  return textOfWindow(fromS + by * lengthS, toS + by * lengthS);
}

/** The period of a button: the present one, or the one in which the shown range begins if that is over. */
export function turned(
  { fromS, isLive }: Window,
  range: (typeof RANGES)[number],
  nowS: EpochS,
  zone: string | undefined,
): string {
  return range === 'hour' || isLive ? range : named(periodAt(range, fromS * 1_000, zone), nowS, zone);
}

function named(period: string, nowS: EpochS, zone: string | undefined): string {
  const unit = unitOf(period) ?? 'day';
  return periodAt(unit, nowS * 1_000, zone) === period ? unit : period;
}

/** Shorter or longer around its middle; a range that ends about now ends now, so that the newest values stay. */
export function zoomed({ fromS, toS }: Window, by: number, nowS: EpochS): string {
  const lengthS = (toS - fromS) * by;
  const isNewest = toS + (toS - fromS) / 10 >= nowS;
  const endS = isNewest ? nowS : (fromS + toS + lengthS) / 2;
  return textOfWindow(endS - lengthS, endS);
}

/** Seconds of one point. */
export function stepOf({ fromS, toS }: Pick<Window, 'fromS' | 'toS'>): number {
  const least = (toS - fromS) / POINTS_MAX;
  return STEPS_S.find((stepS) => stepS >= least) ?? Math.ceil(least / 86_400) * 86_400;
}
