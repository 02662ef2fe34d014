/** Numbers as CSV text, written directly as bytes: most are short decimals, which are exact as whole numbers. */
import type { ByteWriter } from '../codec/byte-writer.ts';
import { POWERS } from '../codec/decimal.ts';

/** Averages have more decimals than are worth trying. */
const DECIMALS_MAX = 4;
/** Scaled values below this fit 32 bits; decimals of up to 15 digits are the shortest text of their double. */
const SCALED_MAX = 1e9;
const LARGE = SCALED_MAX / 10 ** DECIMALS_MAX;
/** Longest text of a double. */
const NUMBER_BYTES = 25;
const ZERO = 48;
const MINUS = 45;
const POINT = 46;

/** Writes `String(value)`, or nothing if it is not finite. Tries `decimals` first; returns those to try the next time. */
export function writeNumber(out: ByteWriter, value: number, decimals: number): number {
  out.reserve(NUMBER_BYTES);
  if (isShort(value, decimals)) return writeScaled(out, value, decimals);
  // Large numbers have no room for more decimals.
  const most = Math.abs(value) < LARGE ? DECIMALS_MAX : 1;
  if (most !== decimals && isShort(value, most)) return writeScaled(out, value, most);
  // The same text as `String`, which would keep each number in a cache until the next major garbage collection.
  if (Number.isFinite(value)) writeAscii(out, JSON.stringify(value));
  return DECIMALS_MAX;
}

function isShort(value: number, decimals: number): boolean {
  const power = POWERS[decimals] as number;
  const scaled = Math.round(value * power);
  return scaled <= SCALED_MAX && scaled >= -SCALED_MAX && scaled / power === value;
}

/** A whole number from 0 to 2^32. */
export function writeWhole(out: ByteWriter, value: number): void {
  out.reserve(NUMBER_BYTES);
  if (value <= SCALED_MAX) writeDigits(out, value, digitsOf(value));
  else {
    const high = Math.floor(value / 100_000);
    writeDigits(out, high, digitsOf(high));
    writeDigits(out, value - high * 100_000, 5);
  }
}

/** Returns the decimals that it has. */
function writeScaled(out: ByteWriter, value: number, decimals: number): number {
  let rest = Math.round(value * (POWERS[decimals] as number)) | 0;
  let places = decimals;
  while (places > 0 && rest % 10 === 0) {
    rest = (rest / 10) | 0;
    places--;
  }
  const { bytes } = out;
  if (rest < 0) {
    rest = -rest;
    bytes[out.length++] = MINUS;
  }
  if (places === 0) {
    writeDigits(out, rest, digitsOf(rest));
    return 0;
  }
  const power = POWERS[places] as number;
  const whole = (rest / power) | 0;
  writeDigits(out, whole, digitsOf(whole));
  bytes[out.length++] = POINT;
  writeDigits(out, rest - whole * power, places);
  return places;
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let limit = 10; value >= limit; limit *= 10) digits++;
  return digits;
}

/** With zeros in front. */
function writeDigits(out: ByteWriter, value: number, digits: number): void {
  const { bytes, length } = out;
  let rest = value | 0;
  for (let at = length + digits - 1; at >= length; at--) {
    const tenth = (rest / 10) | 0;
    bytes[at] = ZERO + rest - tenth * 10;
    rest = tenth;
  }
  out.length = length + digits;
}

function writeAscii(out: ByteWriter, text: string): void {
  const { bytes } = out;
  let at = out.length;
  for (let index = 0; index < text.length; index++) bytes[at++] = text.charCodeAt(index);
  out.length = at;
}
