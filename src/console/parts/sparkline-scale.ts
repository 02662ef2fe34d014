/** How high the small lines of one card are drawn, so that noise is no cliff and like values can be compared. Pure. */
import { groupBy } from '../group-by.ts';
import type { Cell } from '../history/series.ts';

/** A line with its unit as declared, empty if none. */
export interface SmallLine {
  name: string;
  unit: string;
  isInteger: boolean;
  column: readonly Cell[];
}

export interface Scale {
  least: number;
  most: number;
}

/** Powers and percentages, of which zero is part of the meaning. */
const WITH_ZERO = /^(?:[mkMG]?(?:W|VA|var)|%|percent)$/;
/** A line is at least so high, in steps of the last digit that is shown. */
const STEPS_MIN = 100;
/** Least span as a share of the largest value. */
const SHARE_MIN = 0.02;

/** A scale for each name: the same for all lines with one unit; those without a unit have their own. */
export function scalesOf(lines: readonly SmallLine[]): Map<string, Scale> {
  const scales = new Map<string, Scale>();
  for (const alike of groupBy(lines, ({ unit, name }) => (unit === '' ? ` ${name}` : unit)).values()) {
    const scale = scaleOf(alike);
    if (scale) for (const { name } of alike) scales.set(name, scale);
  }
  return scales;
}

function scaleOf(lines: readonly [SmallLine, ...SmallLine[]]): Scale | undefined {
  const values = lines.flatMap(({ column }) => column.filter((value) => typeof value === 'number'));
  if (values.length === 0) return undefined;
  const isWithZero = WITH_ZERO.test(lines[0].unit);
  if (isWithZero) values.push(0);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const magnitude = Math.max(Math.abs(least), Math.abs(most));
  const isInteger = lines.every((line) => line.isInteger);
  const spanMin = Math.max(STEPS_MIN * lastDigitOf(magnitude, isInteger), SHARE_MIN * magnitude);
  const missing = Math.max(0, spanMin - (most - least));
  // Zero stays at the edge that it is at.
  if (isWithZero) return least < 0 ? { least: least - missing, most } : { least, most: most + missing };
  return { least: least - missing / 2, most: most + missing / 2 };
}

/** Last digit that `numberText` shows of a value of this size. */
function lastDigitOf(magnitude: number, isInteger: boolean): number {
  if (isInteger || magnitude >= 1_000) return 1;
  return magnitude >= 100 ? 0.1 : 0.01;
}
