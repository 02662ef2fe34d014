/** The time range of a chart, as it stands in the address. */
import type { DurationS, EpochS } from '../../lib/time.ts';
import { numberText } from '../format.ts';
import { language, locale, say } from '../words/index.ts';
import { timesAs } from '../zone.ts';

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

// The texts of the axes: numbers with as many digits as tell them apart, and times where the site is. Pure.

const PREFIXES = [
  ['', 1],
  ['k', 1e3],
  ['M', 1e6],
  ['G', 1e9],
  ['T', 1e12],
] as const;
/** From this size on thousands are written as prefixes. */
const PREFIX_FROM = 10_000;
/** A prefix would make numbers with more digits after the mark longer, not shorter. */
const PREFIX_DIGITS_MAX = 2;
/** Numbers beyond these are written with an exponent. */
const PLAIN_FROM = 1e-6;
const PLAIN_TO = 1e15;
const DIGITS_MAX = 12;

/** A value as it is read. @param isSwitch it is 0 or 1, and on the way between them nothing */
export function cellText(value: number | null | undefined, isSwitch: boolean): string {
  if (typeof value !== 'number') return '–';
  if (!isSwitch) return numberText(value);
  return value === 1 ? say.history.on : value === 0 ? say.history.off : '';
}

/** @param step from one to the next */
export function axisTexts(values: readonly (number | null)[], step: number): string[] {
  const most = Math.max(...values.map((value) => Math.abs(value ?? 0)));
  const write =
    most >= PLAIN_TO || (most < PLAIN_FROM && most > 0) ? exponent(most, step) : plain(most, step);
  return values.map((value) => (value === null ? '' : write(value)));
}

function exponent(most: number, step: number): (value: number) => string {
  const digits = digitsOf(step / 10 ** Math.floor(Math.log10(most)));
  return (value) => numberAs(value, { notation: 'scientific', maximumFractionDigits: digits });
}

function plain(most: number, step: number): (value: number) => string {
  const fitting = PREFIXES.filter(
    ([, factor]) =>
      factor === 1 || (most >= PREFIX_FROM && most >= factor && digitsOf(step / factor) <= PREFIX_DIGITS_MAX),
  );
  const [prefix, factor] = fitting.at(-1) ?? PREFIXES[0];
  const digits = digitsOf(step / factor);
  return (value) =>
    `${numberAs(value / factor, { maximumFractionDigits: digits })}${value === 0 ? '' : prefix}`;
}

/** Digits after the mark that steps of this size need; what a computer adds to a fraction is none of it. */
function digitsOf(step: number): number {
  let digits = 0;
  while (
    digits < DIGITS_MAX &&
    Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6 * step * 10 ** digits
  )
    digits++;
  return digits;
}

/** Commas between thousands look like those before a fraction to half of the world. */
function numberAs(value: number, format: Intl.NumberFormatOptions): string {
  const text = value.toLocaleString(locale, format).replace(/^-(?=0$)/, '');
  return language === 'en' ? text.replaceAll(',', ' ') : text;
}

/** G: lines that are further apart mark the first days of months. */
const MONTH_S = 28 * 86_400;

/** Times of a day, dates where a day begins, and months with their year where lines are that far apart. */
export function timeTexts(timesS: readonly EpochS[], apartS: DurationS, stepS: DurationS): string[] {
  if (apartS >= MONTH_S) {
    const month = timesAs({ month: 'short', year: 'numeric' });
    return timesS.map((timeS) => month.format(timeS * 1_000));
  }
  const clock = timesAs({ hour: '2-digit', minute: '2-digit' });
  const day = timesAs({ day: 'numeric', month: 'short' });
  return timesS.map((timeS) => {
    const text = clock.format(timeS * 1_000);
    return text === '00:00' && stepS > 10 ? day.format(timeS * 1_000) : text;
  });
}
