/** A sealed block: the samples of one series within one day, compressed. Layout in ../FORMAT.md. */
import type { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import { readIntegerColumn, writeIntegerColumn } from './integer-column.ts';
import {
  readBytes,
  readExactIntegers,
  readNumbers,
  writeBytes,
  writeExactIntegers,
  writeNumbers,
} from './number-column.ts';
import type { Samples } from './samples.ts';
import type { SeriesKind } from './series.ts';

const VERSION = 0xb1;
const KINDS: readonly SeriesKind[] = ['number', 'boolean', 'text'];
const EXACT = 4;

/** Bytes that do not hold what was written. */
export class DamagedBlockError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`a block is damaged: ${reason}`, { cause });
    this.name = 'DamagedBlockError';
  }
}

const out = new ByteWriter(1 << 17);
let column = new Int32Array(4_096);

/** `samples[from..to)`, which must be in order of time. The checksum covers the series id. */
export function encodeBlock(seriesId: number, samples: Samples, from: number, to: number): Buffer {
  const count = to - from;
  out.length = 0;
  out.byte(VERSION);
  out.byte(KINDS.indexOf(samples.kind) + (samples.integers ? EXACT : 0));
  out.unsigned(count);
  writeTimes(samples.times.subarray(from, to));
  if (samples.kind === 'text') writeTexts(samples, from, to);
  else if (samples.integers) writeExactIntegers(out, samples.integers.slice(from, to), count);
  else writeNumbers(out, samples.numbers.subarray(from, to), count);
  out.uint32(crc32(out.bytes.subarray(0, out.length), seriesId));
  return out.take();
}

/** Appends the samples of a block. @throws DamagedBlockError */
export function decodeBlock(seriesId: number, bytes: Buffer, into: Samples): void {
  checkBlock(seriesId, bytes);
  try {
    const reader = new ByteReader(bytes, 0, bytes.length - 4);
    if (reader.byte() !== VERSION) throw new RangeError('unknown version');
    const form = reader.byte();
    if (KINDS[form & 3] !== into.kind) throw new RangeError('another kind of series');
    const count = reader.unsigned();
    if (count > 0x1000000) throw new RangeError('implausible number of samples');
    into.reserve(count);
    readTimes(reader, into, count);
    if (into.kind === 'text') readTexts(reader, into, count);
    else if (form & EXACT) readExact(reader, into, count);
    else {
      readNumbers(reader, into.numbers.subarray(into.count, into.count + count), count);
      if (into.integers)
        for (let index = into.count; index < into.count + count; index++)
          into.integers[index] = BigInt(into.numbers[index] as number);
    }
    into.count += count;
  } catch (error) {
    throw error instanceof DamagedBlockError ? error : new DamagedBlockError(String(error), error);
  }
}

/** @throws DamagedBlockError */
export function checkBlock(seriesId: number, bytes: Buffer): void {
  if (bytes.length < 8) throw new DamagedBlockError('it is too short');
  const length = bytes.length - 4;
  if (bytes.readUInt32LE(length) !== crc32(bytes.subarray(0, length), seriesId))
    throw new DamagedBlockError('its checksum does not match');
}

const RUNS = 0;
const COLUMN = 1;

/** First instant, then steps: as runs of equal steps, or as a column where there are too many runs. */
function writeTimes(times: Uint32Array): void {
  const count = times.length;
  out.unsigned(times[0] as number);
  let runs = 0;
  for (let index = 1; index < count; index++)
    if (index === 1 || stepAt(times, index) !== stepAt(times, index - 1)) runs++;
  if (runs * 4 <= count + 64) {
    out.byte(RUNS);
    for (let index = 1; index < count;) {
      const step = stepAt(times, index);
      const first = index;
      while (index < count && stepAt(times, index) === step) index++;
      out.unsigned(step);
      out.unsigned(index - first);
    }
    return;
  }
  out.byte(COLUMN);
  if (column.length < count) column = new Int32Array(count * 2);
  for (let index = 0; index < count; index++) column[index] = (times[index] as number) - (times[0] as number);
  writeIntegerColumn(out, column, count);
}

function stepAt(times: Uint32Array, index: number): number {
  return (times[index] as number) - (times[index - 1] as number);
}

function readTimes(reader: ByteReader, into: Samples, count: number): void {
  if (count === 0) throw new RangeError('a block without samples');
  const { times } = into;
  const firstS = reader.unsigned();
  if (into.count > 0 && firstS <= into.lastS) into.isOrdered = false;
  let index = into.count;
  const end = index + count;
  if (reader.byte() === COLUMN) {
    if (column.length < count) column = new Int32Array(count * 2);
    readIntegerColumn(reader, column, count);
    for (let offset = 0; offset < count; offset++) times[index++] = firstS + (column[offset] as number);
    return;
  }
  let timestampS = firstS;
  times[index++] = timestampS;
  while (index < end) {
    const step = reader.unsigned();
    let length = reader.unsigned();
    if (length === 0 || index + length > end) throw new RangeError('a run beyond the end');
    for (; length > 0; length--) times[index++] = timestampS += step;
  }
}

/** The texts in order of first use, then their codes. */
function writeTexts(samples: Samples, from: number, to: number): void {
  const codes = new Map<number, number>();
  const numbers = new Float64Array(to - from);
  const dictionary = new ByteWriter(256);
  for (let index = from; index < to; index++) {
    const code = samples.numbers[index] as number;
    let local = codes.get(code);
    if (local === undefined) {
      local = codes.size;
      codes.set(code, local);
      dictionary.text(samples.texts[code] as string);
    }
    numbers[index - from] = local;
  }
  out.unsigned(codes.size);
  writeBytes(out, dictionary.bytes.subarray(0, dictionary.length));
  writeNumbers(out, numbers, to - from);
}

function readTexts(reader: ByteReader, into: Samples, count: number): void {
  const size = reader.unsigned();
  const dictionary = new ByteReader(readBytes(reader));
  const codes: number[] = [];
  for (let index = 0; index < size; index++) codes.push(into.codeOf(dictionary.text()));
  const numbers = into.numbers.subarray(into.count, into.count + count);
  readNumbers(reader, numbers, count);
  for (let index = 0; index < count; index++) {
    const code = codes[numbers[index] as number];
    if (code === undefined) throw new RangeError('unknown text');
    numbers[index] = code;
  }
}

function readExact(reader: ByteReader, into: Samples, count: number): void {
  const exact = readExactIntegers(reader, count);
  const integers = into.widen();
  for (let index = 0; index < count; index++) {
    integers[into.count + index] = exact[index] as bigint;
    into.numbers[into.count + index] = Number(exact[index]);
  }
}
