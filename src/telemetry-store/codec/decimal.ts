/**
 * Doubles that are short decimals, as sensors send them, are kept as whole numbers: 23.1 is 231 at one
 * decimal. `scaled / POWERS[decimals]` gives back exactly the same double, or the value is not scaled.
 *
 * Devices with 32-bit numbers send 230.1 as 230.10000610351562, the double of the nearest one. Such a value is kept
 * as the decimal that rounds to it, or, where it is true noise, as its bits in an order of size.
 */

const DECIMALS_MAX = 9;
export const POWERS: readonly number[] = [1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** Whole numbers below this are exact, with room for a difference of two. */
const SCALED_MAX = 2 ** 51;

/** Least decimals, from `atLeast` on, at which the value is a whole number; -1 when there are none. */
export function decimalsOf(value: number, atLeast: number): number {
  for (let decimals = atLeast; decimals <= DECIMALS_MAX; decimals++) {
    const power = POWERS[decimals] as number;
    const scaled = Math.round(value * power);
    if (scaled / power === value) return Math.abs(scaled) < SCALED_MAX ? decimals : -1;
  }
  return -1;
}

/** A decimal with more digits is no shorter than the bits. */
const SINGLE_SCALED_MAX = 2 ** 31;

/** Whether every value is a finite 32-bit number; the sum of a roll-up may be infinite. */
export function areSingle(values: Float64Array, count: number): boolean {
  for (let index = 0; index < count; index++) {
    const value = values[index] as number;
    if (Math.fround(value) !== value || !Number.isFinite(value)) return false;
  }
  return true;
}

/** Least decimals, from `atLeast` on, at which a decimal rounds to this 32-bit number; -1 when there are none. */
export function singleDecimalsOf(value: number, atLeast: number): number {
  for (let decimals = atLeast; decimals < POWERS.length; decimals++) {
    const power = POWERS[decimals] as number;
    const scaled = Math.round(value * power);
    if (Math.abs(scaled) >= SINGLE_SCALED_MAX) return -1;
    if (Math.fround(scaled / power) === value) return decimals;
  }
  return -1;
}

const SIGN = 0x80000000;
const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

/** The bits of a 32-bit number as a whole number, ordered like the numbers themselves; 0 for 0. */
export function orderedBits(value: number): number {
  float[0] = value;
  const pattern = bits[0] as number;
  return pattern >= 0 ? pattern : -(pattern & 0x7fffffff);
}

/** The inverse of `orderedBits`. @throws RangeError for bits of an infinite number or NaN */
export function ofOrderedBits(ordered: number): number {
  const magnitude = Math.abs(ordered);
  if (magnitude >= 0x7f800000) throw new RangeError('not a finite number');
  bits[0] = ordered < 0 ? magnitude | SIGN : magnitude;
  return float[0] as number;
}
