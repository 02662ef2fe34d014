/**
 * Doubles that are short decimals, as sensors send them, are kept as whole numbers: 23.1 is 231 at one
 * decimal. `scaled / POWERS[decimals]` gives back exactly the same double, or the value is not scaled.
 */

const DECIMALS_MAX = 9;
export const POWERS: readonly number[] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** Whole numbers below this are exact, with room for a difference of two. */
const SCALED_MAX = 2 ** 51;

/** Least decimals, from `atLeast` on, at which the value is a whole number; -1 when there is none. */
export function decimalsOf(value: number, atLeast: number): number {
  for (let decimals = atLeast; decimals <= DECIMALS_MAX; decimals++) {
    const power = POWERS[decimals] as number;
    const scaled = Math.round(value * power);
    if (scaled / power === value) return Math.abs(scaled) < SCALED_MAX ? decimals : -1;
  }
  return -1;
}
