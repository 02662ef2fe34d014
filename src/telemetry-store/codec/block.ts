/** A sealed block: the samples of one series within one day, compressed. Layout in ../FORMAT.md. */
import type { Buffer } from 'node:buffer';
import { MINUTE_S } from '../../lib/time.ts';
import { decodeSealed, encodeSealed, readTexts, writeTexts } from './block-parts.ts';
import { type ByteReader, ByteWriter } from './byte-writer.ts';
import { readIntegerColumn, writeIntegerColumn } from './integer-column.ts';
import { readExactIntegers, readNumbers, writeExactIntegers, writeNumbers } from './number-column.ts';
import { readCells, type Rollup, rollUp, writeCells } from './rollup.ts';
import type { Samples } from './samples.ts';

const VERSION = 0xb1;
const SAMPLES_MAX = 0x1000000;
/** M: cells of fewer samples are hardly shorter than the samples, and hardly faster to read. */
const SAMPLES_PER_CELL = 16;

const out = new ByteWriter(1 << 17);
let column = new Int32Array(4_096);

/** `samples[from..to)`, which must be in order of time. The checksum covers the series id. */
export function encodeBlock(seriesId: number, samples: Samples, from: number, to: number): Buffer {
  const { kind, integers } = samples;
  return encodeSealed(out, VERSION, { id: seriesId, kind, isExact: !!integers }, () => {
    writeSamples(samples, from, to);
    return undefined;
  });
}

/** The same block, and behind its samples their minute cells where these are much fewer. */
export function encodePart(seriesId: number, samples: Samples, from: number, to: number): Buffer {
  const { kind, integers } = samples;
  const cells = kind === 'text' ? undefined : rollUp(samples, MINUTE_S, from, to);
  return encodeSealed(out, VERSION, { id: seriesId, kind, isExact: !!integers }, () => {
    writeSamples(samples, from, to);
    if (!cells || cells.count * SAMPLES_PER_CELL > to - from) return undefined;
    const cellsAt = out.length;
    writeCells(out, cells);
    return cellsAt;
  });
}

function writeSamples({ kind, times, numbers, integers, texts }: Samples, from: number, to: number): void {
  const count = to - from;
  out.unsigned(count);
  writeTimes(times.subarray(from, to));
  if (kind === 'text') writeTexts(out, numbers.subarray(from, to), texts);
  else if (integers) writeExactIntegers(out, integers.subarray(from, to), count);
  else writeNumbers(out, numbers.subarray(from, to), count);
}

/** The minute cells of a part that has them, without its samples. @throws DamagedBlockError */
export function decodePartCells(seriesId: number, bytes: Buffer): Rollup {
  return decodeSealed(seriesId, VERSION, bytes, (reader, { kind, isExact, cellsAt }) => {
    if (cellsAt === undefined) throw new RangeError('a part without cells');
    reader.offset = cellsAt;
    return readCells(reader, kind, isExact);
  });
}

/** Appends the samples of a block. @throws DamagedBlockError */
export function decodeBlock(seriesId: number, bytes: Buffer, into: Samples): void {
  decodeSealed(seriesId, VERSION, bytes, (reader, { kind, isExact }) => {
    if (kind !== into.kind) throw new RangeError('another kind of series');
    const count = reader.unsigned();
    if (count > SAMPLES_MAX) throw new RangeError('implausible number of samples');
    into.reserve(count);
    readTimes(reader, into, count);
    if (kind === 'text') readCodes(reader, into, count);
    else if (isExact) readExact(reader, into, count);
    else {
      readNumbers(reader, into.numbers.subarray(into.count, into.count + count), count);
      if (into.integers)
        for (let index = into.count; index < into.count + count; index++)
          into.integers[index] = BigInt(into.numbers[index] as number);
    }
    into.count += count;
  });
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

function readCodes(reader: ByteReader, into: Samples, count: number): void {
  const codes = readTexts(reader).map((text) => into.textCodes.codeOf(text));
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
