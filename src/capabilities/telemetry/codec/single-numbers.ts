/**
 * Numbers that a device holds in 32 bits: 230.1 arrives as 230.10000610351562, the double of the nearest of them. Such a
 * value is kept as the decimal that rounds to it, or, where it is true noise, as its bits in an order of size.
 */
import { POWERS } from './decimal.ts';

/** A decimal of more digits than this is no shorter than the bits. */
const SCALED_MAX = 2 ** 31;

/** Whether every value is the double of a finite number of 32 bits; the sum of a roll-up may be endless. */
export function areSingle(values: Float64Array, count: number): boolean {
  for (let index = 0; index < count; index++) {
    const value = values[index] as number;
    if (Math.fround(value) !== value || !Number.isFinite(value)) return false;
  }
  return true;
}

/** Least decimals, from `atLeast` on, at which a decimal rounds to this number of 32 bits; -1 when there is none. */
export function singleDecimalsOf(value: number, atLeast: number): number {
  for (let decimals = atLeast; decimals < POWERS.length; decimals++) {
    const power = POWERS[decimals] as number;
    const scaled = Math.round(value * power);
    if (Math.abs(scaled) >= SCALED_MAX) return -1;
    if (Math.fround(scaled / power) === value) return decimals;
  }
  return -1;
}

const SIGN = 0x80000000;
const float = new Float32Array(1);
const bits = new Int32Array(float.buffer);

/** The bits of a number of 32 bits as a whole number in the order of size; 0 for 0. */
export function orderedBits(value: number): number {
  float[0] = value;
  const pattern = bits[0] as number;
  return pattern >= 0 ? pattern : -(pattern & 0x7fffffff);
}

/** @throws RangeError for what is no finite number */
export function ofOrderedBits(ordered: number): number {
  const magnitude = Math.abs(ordered);
  if (magnitude >= 0x7f800000) throw new RangeError('not a finite number');
  bits[0] = ordered < 0 ? magnitude | SIGN : magnitude;
  return float[0] as number;
}
