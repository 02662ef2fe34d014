/** Roll-ups: one cell per slot of a day instead of every sample. Layout in ../FORMAT.md. */
import type { Buffer } from 'node:buffer';
import { DAY_S, type DurationS } from '../../lib/time.ts';
import { decodeSealed, encodeSealed, readTexts, writeTexts } from './block-parts.ts';
import { type ByteReader, ByteWriter } from './byte-writer.ts';
import { readExactIntegers, readNumbers, writeExactIntegers, writeNumbers } from './number-column.ts';
import type { Samples } from './samples.ts';
import type { SeriesKind, StoredValue } from './series.ts';

const VERSION = 0xb2;
const EXACT_COLUMNS = ['minima', 'maxima', 'lasts'] as const;

/** The cells of one day that have samples, as columns. */
export interface Rollup {
  kind: SeriesKind;
  count: number;
  /** Start of the slot, Unix seconds. */
  starts: Float64Array;
  counts: Float64Array;
  sums: Float64Array;
  minima: Float64Array;
  maxima: Float64Array;
  /** For texts indexes into `texts`. */
  lasts: Float64Array;
  texts: string[];
  /** Exact minima, maxima and last values, where the series has integers beyond 2^53. */
  exact: Record<(typeof EXACT_COLUMNS)[number], BigInt64Array> | undefined;
}

function emptyRollup(kind: SeriesKind, capacity: number, isExact: boolean): Rollup {
  // One buffer for all columns: to allocate and free one costs as much as to read a minute.
  const memory = new Float64Array(capacity * 6);
  let columns = 0;
  const column = (): Float64Array => memory.subarray(capacity * columns++, capacity * columns);
  const exactColumn = (): BigInt64Array => new BigInt64Array(capacity);
  return {
    kind,
    count: 0,
    starts: column(),
    counts: column(),
    sums: column(),
    minima: column(),
    maxima: column(),
    lasts: column(),
    texts: [],
    exact: isExact ? { minima: exactColumn(), maxima: exactColumn(), lasts: exactColumn() } : undefined,
  };
}

/** Cells of `slotS` seconds over samples in order of time, or over `samples[begin..stop)`; all of one day. */
export function rollUp(samples: Samples, slotS: DurationS, begin = 0, stop = samples.count): Rollup {
  const { times, numbers, integers } = samples;
  const slotOf = (index: number): number => Math.floor((times[index] as number) / slotS);
  const slots = stop > begin ? slotOf(stop - 1) - slotOf(begin) + 1 : 0;
  const rollup = emptyRollup(samples.kind, Math.min(stop - begin, slots), !!integers);
  rollup.texts = [...samples.texts];
  for (let index = begin; index < stop;) {
    const timestampS = times[index] as number;
    const first = index;
    const start = timestampS - (timestampS % slotS);
    const end = start + slotS;
    let value = numbers[index] as number;
    let sum = 0;
    let minimum = value;
    let maximum = value;
    for (; index < stop && (times[index] as number) < end; index++) {
      value = numbers[index] as number;
      sum += value;
      if (value < minimum) minimum = value;
      else if (value > maximum) maximum = value;
    }
    const cell = rollup.count++;
    rollup.starts[cell] = start;
    rollup.counts[cell] = index - first;
    rollup.sums[cell] = sum;
    rollup.minima[cell] = minimum;
    rollup.maxima[cell] = maximum;
    rollup.lasts[cell] = value;
    if (rollup.exact && integers) addExact(rollup.exact, cell, integers.subarray(first, index));
  }
  return rollup;
}

function addExact(exact: NonNullable<Rollup['exact']>, cell: number, values: BigInt64Array): void {
  let minimum = values[0] as bigint;
  let maximum = minimum;
  for (const value of values) {
    if (value < minimum) minimum = value;
    if (value > maximum) maximum = value;
  }
  exact.minima[cell] = minimum;
  exact.maxima[cell] = maximum;
  exact.lasts[cell] = values.at(-1) as bigint;
}

/** The last value of a cell. */
export function lastOf({ kind, lasts, texts, exact }: Rollup, cell: number): StoredValue {
  const last = lasts[cell] as number;
  if (kind === 'text') return texts[last] as string;
  if (kind === 'boolean') return last === 1;
  return exact && !Number.isSafeInteger(last) ? (exact.lasts[cell] as bigint) : last;
}

const sealed = new ByteWriter(16_384);

export function encodeRollup(seriesId: number, rollup: Rollup): Buffer {
  const { kind, exact } = rollup;
  return encodeSealed(sealed, VERSION, { id: seriesId, kind, isExact: !!exact }, () => {
    writeCells(sealed, rollup);
    return undefined;
  });
}

/** The cells without their kind, which `readCells` must be given. */
export function writeCells(out: ByteWriter, rollup: Rollup): void {
  const { count, kind, exact } = rollup;
  out.unsigned(count);
  writeNumbers(out, rollup.starts, count);
  writeNumbers(out, rollup.counts, count);
  if (kind === 'text') {
    writeTexts(out, rollup.lasts.subarray(0, count), rollup.texts);
    return;
  }
  writeSums(out, rollup);
  if (kind === 'number') writeNumbers(out, rollup.minima, count);
  writeNumbers(out, rollup.maxima, count);
  writeNumbers(out, rollup.lasts, count);
  if (exact) for (const column of EXACT_COLUMNS) writeExactIntegers(out, exact[column], count);
}

/**
 * Sums of short decimals carry the rounding of every addition; written by the decimals of the values they
 * are whole numbers again, and exact.
 */
function writeSums(out: ByteWriter, { sums, count }: Rollup): void {
  const rounded = new Float64Array(count);
  for (let cell = 0; cell < count; cell++) {
    const sum = sums[cell] as number;
    const scaled = Math.round(sum * 1e3);
    rounded[cell] = Math.abs(scaled / 1e3 - sum) <= Math.abs(sum) * 1e-12 ? scaled / 1e3 : sum;
  }
  writeNumbers(out, rounded, count);
}

/** @throws DamagedBlockError */
export function decodeRollup(seriesId: number, bytes: Buffer): Rollup {
  return decodeSealed(seriesId, VERSION, bytes, (reader, { kind, isExact }) =>
    readCells(reader, kind, isExact),
  );
}

/** What `writeCells` wrote. @throws RangeError */
export function readCells(reader: ByteReader, kind: SeriesKind | undefined, isExact: boolean): Rollup {
  if (!kind) throw new RangeError('unknown kind');
  const count = reader.unsigned();
  if (count > DAY_S) throw new RangeError('implausible number of cells');
  const rollup = emptyRollup(kind, count, false);
  rollup.count = count;
  readNumbers(reader, rollup.starts, count);
  readNumbers(reader, rollup.counts, count);
  if (kind === 'text') {
    rollup.texts = readTexts(reader);
    readNumbers(reader, rollup.lasts, count);
    return rollup;
  }
  readNumbers(reader, rollup.sums, count);
  if (kind === 'number') readNumbers(reader, rollup.minima, count);
  readNumbers(reader, rollup.maxima, count);
  readNumbers(reader, rollup.lasts, count);
  if (isExact)
    rollup.exact = {
      minima: readExactIntegers(reader, count),
      maxima: readExactIntegers(reader, count),
      lasts: readExactIntegers(reader, count),
    };
  return rollup;
}

/** Appends cells of others, one at a time. */
function copierInto(into: Rollup): (from: Rollup, index: number) => void {
  const codes = new Map<string, number>();
  const codeOf = (text: string): number => {
    let code = codes.get(text);
    if (code === undefined) {
      code = codes.size;
      codes.set(text, code);
      into.texts.push(text);
    }
    return code;
  };
  return (from, index) => {
    const cell = into.count++;
    into.starts[cell] = from.starts[index] as number;
    into.counts[cell] = from.counts[index] as number;
    into.sums[cell] = from.sums[index] as number;
    into.minima[cell] = from.minima[index] as number;
    into.maxima[cell] = from.maxima[index] as number;
    into.lasts[cell] =
      from.kind === 'text'
        ? codeOf(from.texts[from.lasts[index] as number] as string)
        : (from.lasts[index] as number);
    if (!into.exact) return;
    for (const column of EXACT_COLUMNS)
      into.exact[column][cell] =
        from.exact?.[column][index] ?? BigInt(Math.trunc(from[column][index] as number));
  };
}

/**
 * Both together. Where both have a cell, the one with more samples counts, and the newer one if they have equally many.
 * So the same samples may be imported again, and a single late one does not replace a whole cell.
 */
export function mergeRollups(older: Rollup, newer: Rollup): Rollup {
  const merged = emptyRollup(newer.kind, older.count + newer.count, !!(older.exact ?? newer.exact));
  const copy = copierInto(merged);
  let a = 0;
  let b = 0;
  while (a < older.count || b < newer.count) {
    const before = a < older.count ? (older.starts[a] as number) : Number.POSITIVE_INFINITY;
    const after = b < newer.count ? (newer.starts[b] as number) : Number.POSITIVE_INFINITY;
    if (before < after) copy(older, a++);
    else if (after < before) copy(newer, b++);
    else {
      const isOlderFuller = (older.counts[a] as number) > (newer.counts[b] as number);
      copy(isOlderFuller ? older : newer, isOlderFuller ? a : b);
      a++;
      b++;
    }
  }
  return merged;
}
