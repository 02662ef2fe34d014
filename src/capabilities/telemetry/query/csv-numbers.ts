/** Numbers as CSV text, straight into bytes: most are short decimals, which whole numbers say exactly. */
import type { ByteWriter } from '../codec/byte-writer.ts';
import { POWERS } from '../codec/decimal.ts';

/** Averages have more, and would only be tried in vain. */
const DECIMALS_MAX = 4;
/** Below this, in whole numbers of 32 bits; decimals of up to 15 digits are the shortest text of their double. */
const SCALED_MAX = 1e9;
const LARGE = SCALED_MAX / 10 ** DECIMALS_MAX;
/** Longest text of a double. */
const NUMBER_BYTES = 25;
const ZERO = 48;
const MINUS = 45;
const POINT = 46;

/**
 * Writes what `String(value)` says, nothing for what is not finite. `decimals` are those to try first; returned are
 * those to try first the next time.
 */
export function writeNumber(out: ByteWriter, value: number, decimals: number): number {
  out.reserve(NUMBER_BYTES);
  if (isShort(value, decimals)) return writeScaled(out, value, decimals);
  // Large ones have no room for all of them.
  const most = Math.abs(value) < LARGE ? DECIMALS_MAX : 1;
  if (most !== decimals && isShort(value, most)) return writeScaled(out, value, most);
  // As `String` writes it, which would keep each number and its text in a cache until the next large collection.
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
