/** The texts of the axes: numbers with as many digits as tell them apart, and times where the site is. Pure. */
import type { DurationS, EpochS } from '../../lib/time.ts';
import { numberText } from '../format.ts';
import { timesAs } from '../zone.ts';
import { locale, language, say } from '../words/index.ts';

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
