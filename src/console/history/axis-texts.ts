/** The texts of the axes: numbers with as many digits as tell them apart, and times where the site is. Pure. */
import type { DurationS, EpochS } from '../../lib/time.ts';
import { columnDigits, numberAs, numberText, written } from '../format.ts';
import { timesAs } from '../zone.ts';
import type { Cell } from './series.ts';
import { say } from '../words/index.ts';

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
/** A column would show smaller numbers as zeros only. */
const LEAST_IN_COLUMN = 0.01;

/** A value as it is read. @param isSwitch it is 0 or 1, and on the way between them nothing @param digits of its column */
export function cellText(value: number | null | undefined, isSwitch: boolean, digits?: number): string {
  if (typeof value !== 'number') return '–';
  if (!isSwitch) return digits === undefined ? numberText(value) : numberAs(value, digits);
  return value === 1 ? say.history.on : value === 0 ? say.history.off : '';
}

/** Digits after the mark of a column of cells; undefined where they differ too much in size for that. */
export function cellDigits(column: readonly Cell[]): number | undefined {
  const sizes = column.flatMap((value) =>
    typeof value === 'number' && value !== 0 ? [Math.abs(value)] : [],
  );
  return Math.min(...sizes) < LEAST_IN_COLUMN ? undefined : columnDigits(column);
}

/** Units of which thousands are written as a prefix, with the one that they have already. */
const PREFIXED = /^([kMGT]?)(W|Wh|VA|VAh|var|varh|V|A|Hz|bit\/s)$/;

/**
 * The unit is written once, at the highest line, so that it fits on a phone too.
 * @param step from one to the next
 * @param unit as it is written
 */
export function axisTexts(values: readonly (number | null)[], step: number, unit = ''): string[] {
  const known = values.filter((value) => value !== null);
  const most = Math.max(...known.map(Math.abs));
  const [, own = '', base] = PREFIXED.exec(unit) ?? [];
  const ownFactor = base === undefined ? 1 : factorOf(own);
  const mayScale = base !== undefined || unit === '';
  const isExponent = most >= PLAIN_TO || (most < PLAIN_FROM && most > 0);
  const [prefix, factor] =
    isExponent || !mayScale
      ? ([own, ownFactor] as const)
      : scaleOf(most, step, ownFactor, base !== undefined);
  const by = ownFactor / factor;
  const write = isExponent ? exponent(most, step) : plain(step * by);
  const highest = Math.max(...known);
  return values.map((value) => {
    if (value === null) return '';
    const text = write(value * by);
    if (unit === '') return value === 0 ? text : text + prefix;
    return value === highest ? `${text} ${base === undefined ? unit : prefix + base}` : text;
  });
}

const factorOf = (prefix: string): number => PREFIXES.find(([one]) => one === prefix)?.[1] ?? 1;

/** The largest prefix that makes no number longer; of units people expect it from a thousand on. */
function scaleOf(
  most: number,
  step: number,
  ownFactor: number,
  isUnit: boolean,
): readonly [prefix: string, factor: number] {
  const from = isUnit ? 1_000 : PREFIX_FROM;
  const fitting = PREFIXES.filter(
    ([, factor]) =>
      factor >= ownFactor &&
      (factor === ownFactor ||
        (most * ownFactor >= factor &&
          most >= from &&
          digitsOf((step * ownFactor) / factor) <= PREFIX_DIGITS_MAX)),
  );
  return fitting.at(-1) ?? PREFIXES[0];
}

function exponent(most: number, step: number): (value: number) => string {
  const digits = digitsOf(step / 10 ** Math.floor(Math.log10(most)));
  return (value) => written(value, { notation: 'scientific', maximumFractionDigits: digits });
}

/** Texts of one axis have as many digits as its step needs. */
function plain(step: number): (value: number) => string {
  const digits = digitsOf(step);
  return (value) => (value === 0 ? '0' : numberAs(value, digits));
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
