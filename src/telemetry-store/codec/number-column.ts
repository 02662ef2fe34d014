/**
 * Columns of numbers: whole numbers with a common power of ten, for doubles or for 32-bit numbers; or the bits of 32-bit
 * numbers; or doubles. The shortest possible form is written.
 */
import { Buffer } from 'node:buffer';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ByteReader, ByteWriter } from './byte-writer.ts';
import { areSingle, decimalsOf, ofOrderedBits, orderedBits, POWERS, singleDecimalsOf } from './decimal.ts';
import { fitsIntegerColumn, readIntegerColumn, writeIntegerColumn } from './integer-column.ts';

const CONSTANT = 1;
const SCALED = 2;
const DOUBLES = 3;
/** As 1 and 2; each value is the 32-bit number nearest to the decimal. */
const SINGLE_CONSTANT = 4;
const SINGLE_SCALED = 5;
/** Bits of 32-bit numbers, in order of size. */
const SINGLE_BITS = 6;
/** Each page has a form of its own. */
const PAGES = 7;

/** G: long enough that the head of a page costs nothing, short enough that one odd value spoils little. */
const PAGE_VALUES = 4_096;
/** M: up to so many decimals, 32-bit numbers are shorter as decimals than as bits. */
const SHORT_DECIMALS = 4;

let relative = new Int32Array(4_096);

function scratch(count: number): Int32Array {
  if (relative.length < count) relative = new Int32Array(count * 2);
  return relative;
}

export function writeNumbers(out: ByteWriter, values: Float64Array, count: number): void {
  const scaled = scaleAll(values, count, false);
  if (scaled) writeScaled(out, CONSTANT, scaled, count);
  else if (areSingle(values, count)) writeSingles(out, values, count);
  else writeDoubles(out, values, count);
}

interface Scaled {
  decimals: number;
  base: number;
  isConstant: boolean;
}

/** Writes a constant as `form`, other columns as the next form; their differences are in the scratch column. */
function writeScaled(
  out: ByteWriter,
  form: typeof CONSTANT | typeof SINGLE_CONSTANT,
  { decimals, base, isConstant }: Scaled,
  count: number,
): void {
  out.byte(isConstant ? form : form + 1);
  out.byte(decimals);
  out.signed(base);
  if (!isConstant) writeIntegerColumn(out, relative, count);
}

function writeSingles(out: ByteWriter, values: Float64Array, count: number): void {
  const scaled = scaleAll(values, count, true);
  const start = out.length;
  if (scaled) writeScaled(out, SINGLE_CONSTANT, scaled, count);
  if (scaled && scaled.decimals <= SHORT_DECIMALS) return;
  const hasBits = writeAsBits(out, values, count, start);
  if (!scaled && !hasBits) writeDoubles(out, values, count);
}

/** Writes the bits of 32-bit numbers; of these and the bytes from `start` on the shorter remain. False: they do not fit. */
function writeAsBits(out: ByteWriter, values: Float64Array, count: number, start: number): boolean {
  const target = scratch(count);
  const base = orderedBits(values[0] as number);
  let minimum = 0;
  let maximum = 0;
  for (let index = 0; index < count; index++) {
    const difference = orderedBits(values[index] as number) - base;
    if (difference < minimum) minimum = difference;
    else if (difference > maximum) maximum = difference;
    target[index] = difference;
  }
  if (!fitsIntegerColumn(minimum, maximum)) return false;
  const written = out.length;
  out.byte(SINGLE_BITS);
  out.signed(base);
  writeIntegerColumn(out, target, count);
  keepShorter(out, start, written);
  return true;
}

/** Keeps the shorter one of two versions, which begin at `first` and at `second`. */
function keepShorter(out: ByteWriter, first: number, second: number): void {
  const length = out.length - second;
  if (second > first && length >= second - first) {
    out.length = second;
    return;
  }
  out.bytes.copyWithin(first, second, out.length);
  out.length = first + length;
}

function writeDoubles(out: ByteWriter, values: Float64Array, count: number): void {
  const start = out.length;
  out.byte(DOUBLES);
  writeBytes(out, shuffled(values, count));
  if (count <= PAGE_VALUES) return;
  const second = out.length;
  out.byte(PAGES);
  out.unsigned(PAGE_VALUES);
  for (let from = 0; from < count; from += PAGE_VALUES)
    writeNumbers(out, values.subarray(from, count), Math.min(PAGE_VALUES, count - from));
  keepShorter(out, start, second);
}

/**
 * Puts the values, relative to the first one, into the scratch column; undefined when they do not fit. `isSingle`: each
 * is the 32-bit number nearest to its decimal.
 */
function scaleAll(values: Float64Array, count: number, isSingle: boolean): Scaled | undefined {
  let decimals = 0;
  for (let index = 0; index < count; index++) {
    const value = values[index] as number;
    const power = POWERS[decimals] as number;
    const unscaled = Math.round(value * power) / power;
    if ((isSingle ? Math.fround(unscaled) : unscaled) === value) continue;
    decimals = isSingle ? singleDecimalsOf(value, decimals) : decimalsOf(value, decimals);
    if (decimals < 0) return undefined;
  }
  const target = scratch(count);
  const power = POWERS[decimals] as number;
  const base = Math.round((values[0] as number) * power);
  let minimum = 0;
  let maximum = 0;
  for (let index = 0; index < count; index++) {
    const value = values[index] as number;
    const scaled = Math.round(value * power);
    const unscaled = scaled / power;
    // It was checked with fewer decimals: it must come back exactly with these, too.
    if ((isSingle ? Math.fround(unscaled) : unscaled) !== value) return undefined;
    const difference = scaled - base;
    if (difference < minimum) minimum = difference;
    else if (difference > maximum) maximum = difference;
    target[index] = difference;
  }
  if (!fitsIntegerColumn(minimum, maximum) || Math.abs(base) >= 2 ** 51) return undefined;
  return { decimals, base, isConstant: minimum === maximum };
}

/** Each double XORed with the one before, then all first bytes, all second bytes and so on. */
function shuffled(values: Float64Array, count: number): Buffer {
  const words = new Uint8Array(values.buffer, values.byteOffset, count * 8);
  const planes = Buffer.allocUnsafe(count * 8);
  for (let byte = 0; byte < 8; byte++)
    for (let index = 0; index < count; index++)
      planes[byte * count + index] =
        (words[index * 8 + byte] as number) ^ (index === 0 ? 0 : (words[index * 8 - 8 + byte] as number));
  return planes;
}

/** @throws RangeError, Error for bytes that `writeNumbers` did not write */
export function readNumbers(reader: ByteReader, values: Float64Array, count: number): void {
  const form = reader.byte();
  if (form === DOUBLES) unshuffle(readBytes(reader), values, count);
  else if (form === SINGLE_BITS) readBits(reader, values, count);
  else if (form === PAGES) readPages(reader, values, count);
  else readScaled(reader, form, values, count);
}

function readScaled(reader: ByteReader, form: number, values: Float64Array, count: number): void {
  const power = POWERS[reader.byte()];
  if (power === undefined) throw new RangeError('unknown power of ten');
  const base = reader.signed();
  if (form === CONSTANT || form === SINGLE_CONSTANT) values.fill(base / power, 0, count);
  else if (form === SCALED || form === SINGLE_SCALED) {
    const source = scratch(count);
    readIntegerColumn(reader, source, count);
    for (let index = 0; index < count; index++) values[index] = (base + (source[index] as number)) / power;
  } else throw new RangeError(`unknown form ${form} of numbers`);
  if (form >= SINGLE_CONSTANT)
    for (let index = 0; index < count; index++) values[index] = Math.fround(values[index] as number);
}

function readBits(reader: ByteReader, values: Float64Array, count: number): void {
  const base = reader.signed();
  const source = scratch(count);
  readIntegerColumn(reader, source, count);
  for (let index = 0; index < count; index++) values[index] = ofOrderedBits(base + (source[index] as number));
}

function readPages(reader: ByteReader, values: Float64Array, count: number): void {
  const pageValues = reader.unsigned();
  if (pageValues === 0 || pageValues >= count) throw new RangeError('wrong size of a page');
  for (let from = 0; from < count; from += pageValues)
    readNumbers(reader, values.subarray(from, count), Math.min(pageValues, count - from));
}

function unshuffle(planes: Buffer, values: Float64Array, count: number): void {
  if (planes.length !== count * 8) throw new RangeError('wrong number of doubles');
  const words = new Uint8Array(values.buffer, values.byteOffset, count * 8);
  for (let byte = 0; byte < 8; byte++)
    for (let index = 0; index < count; index++)
      words[index * 8 + byte] =
        (planes[byte * count + index] as number) ^
        (index === 0 ? 0 : (words[index * 8 - 8 + byte] as number));
}

export function writeExactIntegers(out: ByteWriter, values: BigInt64Array, count: number): void {
  writeBytes(out, Buffer.from(values.buffer, values.byteOffset, count * 8));
}

export function readExactIntegers(reader: ByteReader, count: number): BigInt64Array {
  const bytes = readBytes(reader);
  if (bytes.length !== count * 8) throw new RangeError('wrong number of integers');
  return new BigInt64Array(new Uint8Array(bytes).buffer);
}

/** Bytes, compressed where that is shorter. */
export function writeBytes(out: ByteWriter, bytes: Uint8Array): void {
  const compressed = bytes.length > 64 ? zstdCompressSync(bytes) : bytes;
  const isCompressed = compressed.length < bytes.length;
  const chosen = isCompressed ? compressed : bytes;
  out.byte(isCompressed ? 1 : 0);
  out.unsigned(bytes.length);
  out.unsigned(chosen.length);
  out.raw(chosen);
}

/** More than any block holds: a larger size is damage. */
const BYTES_MAX = 1 << 28;

export function readBytes(reader: ByteReader): Buffer {
  const isCompressed = reader.byte() === 1;
  const sizeBytes = reader.unsigned();
  const stored = reader.raw(reader.unsigned());
  if (sizeBytes > BYTES_MAX) throw new RangeError('implausible size');
  return isCompressed ? zstdDecompressSync(stored, { maxOutputLength: Math.max(1, sizeBytes) }) : stored;
}
