/** Columns of numbers: whole numbers with a common power of ten where possible, else doubles. */
import { Buffer } from 'node:buffer';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { ByteReader, ByteWriter } from './byte-writer.ts';
import { decimalsOf, POWERS } from './decimal.ts';
import { fitsIntegerColumn, readIntegerColumn, writeIntegerColumn } from './integer-column.ts';

const CONSTANT = 1;
const SCALED = 2;
const DOUBLES = 3;

let relative = new Int32Array(4_096);

function scratch(count: number): Int32Array {
  if (relative.length < count) relative = new Int32Array(count * 2);
  return relative;
}

export function writeNumbers(out: ByteWriter, values: Float64Array, count: number): void {
  const scaled = scaleAll(values, count);
  if (!scaled) {
    out.byte(DOUBLES);
    writeBytes(out, shuffled(values, count));
    return;
  }
  if (scaled.isConstant) {
    out.byte(CONSTANT);
    out.byte(scaled.decimals);
    out.signed(scaled.base);
    return;
  }
  out.byte(SCALED);
  out.byte(scaled.decimals);
  out.signed(scaled.base);
  writeIntegerColumn(out, relative, count);
}

/** Puts the values, relative to the first one, into the scratch column; undefined when they do not fit. */
function scaleAll(
  values: Float64Array,
  count: number,
): { decimals: number; base: number; isConstant: boolean } | undefined {
  let decimals = 0;
  for (let index = 0; index < count; index++) {
    const value = values[index] as number;
    const power = POWERS[decimals] as number;
    if (Math.round(value * power) / power === value) continue;
    decimals = decimalsOf(value, decimals);
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
    // Scaled later by more decimals than when it was looked at: it must still come back exactly.
    if (scaled / power !== value) return undefined;
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

/** @throws RangeError, Error when the bytes are no such column */
export function readNumbers(reader: ByteReader, values: Float64Array, count: number): void {
  const form = reader.byte();
  if (form === DOUBLES) {
    unshuffle(readBytes(reader), values, count);
    return;
  }
  const power = POWERS[reader.byte()];
  if (power === undefined) throw new RangeError('unknown power of ten');
  const base = reader.signed();
  if (form === CONSTANT) values.fill(base / power, 0, count);
  else if (form === SCALED) {
    const source = scratch(count);
    readIntegerColumn(reader, source, count);
    for (let index = 0; index < count; index++) values[index] = (base + (source[index] as number)) / power;
  } else throw new RangeError(`unknown form ${form} of numbers`);
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

/** More than any block holds; what claims to be larger is damaged. */
const BYTES_MAX = 1 << 28;

export function readBytes(reader: ByteReader): Buffer {
  const isCompressed = reader.byte() === 1;
  const sizeBytes = reader.unsigned();
  const stored = reader.raw(reader.unsigned());
  if (sizeBytes > BYTES_MAX) throw new RangeError('implausible size');
  return isCompressed ? zstdDecompressSync(stored, { maxOutputLength: Math.max(1, sizeBytes) }) : stored;
}
