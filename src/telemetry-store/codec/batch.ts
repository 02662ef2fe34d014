/**
 * The record of the journal: all messages of one group commit. Layout in ../FORMAT.md. Values are coded as
 * differences to the previous value of their series, so a record is read together with those before it,
 * back to the last key record; the writer starts a new one at regular intervals.
 */
import type { EpochS } from '../../lib/time.ts';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import { decimalsOf, POWERS, singleDecimalsOf } from './decimal.ts';
import { KINDS, type Series, type SeriesKind, type StoredValue, TYPES } from './series.ts';

const BATCH_VERSION = 1;
const KEY = 1;
const DEFINE = 2;
const SHAPE = 3;
const SAMPLES = 4;
const LOOSE = 5;
const DROP = 6;
const SUPERSEDE = 7;

const DOUBLE = 10;
const INT64 = 11;
/** 12 to 21: as 0 to 9; each value is the number of 32 bits that is nearest to the decimal. */
const SINGLE = 12;
/** A number of 32 bits as it is. */
const SINGLE_BITS = 22;

/** State of a series that writer and reader carry from record to record within one key epoch. */
export interface SeriesCoding {
  readonly id: number;
  readonly kind: SeriesKind;
  /** Key epoch in which the rest was set. */
  epoch: number;
  /** -1: the last value was not scaled. */
  decimals: number;
  scaled: number;
  /** Values are the numbers of 32 bits that are nearest to the decimals. */
  isSingle: boolean;
  text: string;
}

/** How the values of one series are written into batches, before its first value. */
export function createCoding(id: number, kind: SeriesKind): SeriesCoding {
  return { id, kind, epoch: -1, decimals: -1, scaled: 0, isSingle: false, text: '' };
}

/** The series of one message, in its order. */
export interface Shape {
  id: number;
  epoch: number;
  readonly codings: readonly SeriesCoding[];
}

/** Writes the record of the next group commit. */
export class BatchWriter {
  readonly #recordsPerKey: number;
  readonly #out = new ByteWriter(65_536);
  readonly #unsettled = new Map<number, Series>();
  #epoch = 0;
  #recordsInEpoch = 0;
  #shapes = 0;
  #timestampS: EpochS = 0;

  constructor(options: { recordsPerKey: number }) {
    this.#recordsPerKey = options.recordsPerKey;
  }

  /** Bytes so far. */
  get sizeBytes(): number {
    return this.#out.length;
  }

  /** Declares a series; repeated in every key record until `settledBefore` was called for it. */
  define(series: Series): void {
    const isKey = this.#out.length === 0 && this.#recordsInEpoch === 0;
    this.#unsettled.set(series.id, series);
    this.#start();
    if (!isKey) this.#writeDefine(series);
  }

  /** Series with lower ids are stored elsewhere too. */
  settledBefore(seriesId: number): void {
    for (const id of this.#unsettled.keys()) if (id < seriesId) this.#unsettled.delete(id);
  }

  /** Deletes these series with all their data. */
  drop(seriesIds: readonly number[]): void {
    this.#start();
    for (const id of seriesIds) {
      this.#unsettled.delete(id);
      this.#out.byte(DROP);
      this.#out.unsigned(id);
    }
  }

  /** The next sample of this series is its newest value, although a sample with a later time is known. */
  supersede(coding: SeriesCoding): void {
    this.#start();
    this.#out.byte(SUPERSEDE);
    writeReference(this.#out, coding);
  }

  /** One message; `values[i]` belongs to `shape.codings[i]`. */
  samples(shape: Shape, timestampS: EpochS, values: readonly StoredValue[]): void {
    this.#start();
    const out = this.#out;
    const epoch = this.#epoch;
    const { codings } = shape;
    if (shape.epoch !== epoch) {
      shape.epoch = epoch;
      shape.id = this.#shapes++;
      out.byte(SHAPE);
      out.unsigned(codings.length);
      for (const coding of codings) writeReference(out, coding);
    }
    out.byte(SAMPLES);
    out.unsigned(shape.id);
    this.#writeTime(timestampS);
    for (let index = 0; index < codings.length; index++)
      writeValue(out, epoch, codings[index] as SeriesCoding, values[index] as StoredValue);
  }

  /** One value that has no shape. */
  sample(coding: SeriesCoding, timestampS: EpochS, value: StoredValue): void {
    this.#start();
    this.#out.byte(LOOSE);
    writeReference(this.#out, coding);
    this.#writeTime(timestampS);
    writeValue(this.#out, this.#epoch, coding, value);
  }

  /** The record, or `undefined` when nothing was written; the writer is empty then. */
  take(): Buffer | undefined {
    if (this.#out.length === 0) return undefined;
    const record = this.#out.take();
    this.#out.length = 0;
    this.#recordsInEpoch = (this.#recordsInEpoch + 1) % this.#recordsPerKey;
    return record;
  }

  #start(): void {
    if (this.#out.length > 0) return;
    this.#out.byte(BATCH_VERSION);
    this.#timestampS = 0;
    if (this.#recordsInEpoch > 0) return;
    this.#epoch++;
    this.#shapes = 0;
    this.#out.byte(KEY);
    for (const series of this.#unsettled.values()) this.#writeDefine(series);
  }

  #writeDefine(series: Series): void {
    this.#out.byte(DEFINE);
    this.#out.unsigned(series.id);
    this.#out.byte(TYPES.indexOf(series.type));
    this.#out.text(series.deviceId);
    this.#out.text(series.attribute);
  }

  #writeTime(timestampS: EpochS): void {
    this.#out.signed(timestampS - this.#timestampS);
    this.#timestampS = timestampS;
  }
}

/** Id and kind, which let a reader skip the values of a series that it does not know. */
function writeReference(out: ByteWriter, coding: SeriesCoding): void {
  out.unsigned(coding.id * KINDS.length + KINDS.indexOf(coding.kind));
}

function writeValue(out: ByteWriter, epoch: number, coding: SeriesCoding, value: StoredValue): void {
  if (coding.epoch !== epoch) {
    coding.epoch = epoch;
    coding.decimals = -1;
    coding.text = '';
  }
  if (typeof value === 'number') writeNumber(out, coding, value);
  else if (typeof value === 'boolean') out.byte(value ? 1 : 0);
  else if (typeof value === 'string') {
    if (value === coding.text) out.byte(0);
    else {
      out.byte(1);
      out.text(value);
      coding.text = value;
    }
  } else {
    out.byte((INT64 << 1) | 1);
    out.int64(value);
    coding.decimals = -1;
  }
}

/** Even code: the difference at the known decimals. Odd code: the form of the absolute value that follows. */
function writeNumber(out: ByteWriter, coding: SeriesCoding, value: number): void {
  if (coding.decimals >= 0) {
    const power = POWERS[coding.decimals] as number;
    const scaled = Math.round(value * power);
    const difference = scaled - coding.scaled;
    const unscaled = scaled / power;
    if (
      (coding.isSingle ? Math.fround(unscaled) : unscaled) === value &&
      difference < 0x8000000 &&
      difference > -0x8000000
    ) {
      const code = ((difference << 1) ^ (difference >> 31)) << 1;
      coding.scaled = scaled;
      if (code < 128) {
        out.reserve(1);
        out.bytes[out.length++] = code;
      } else out.unsigned(code);
      return;
    }
  }
  writeAbsolute(out, coding, value);
}

function writeAbsolute(out: ByteWriter, coding: SeriesCoding, value: number): void {
  coding.isSingle = false;
  coding.decimals = decimalsOf(value, 0);
  if (coding.decimals < 0 && Math.fround(value) === value) {
    coding.isSingle = true;
    coding.decimals = singleDecimalsOf(value, 0);
  }
  if (coding.decimals >= 0) {
    coding.scaled = Math.round(value * (POWERS[coding.decimals] as number));
    out.byte(((coding.decimals + (coding.isSingle ? SINGLE : 0)) << 1) | 1);
    out.signed(coding.scaled);
  } else if (coding.isSingle) {
    out.byte((SINGLE_BITS << 1) | 1);
    out.float(value);
  } else {
    out.byte((DOUBLE << 1) | 1);
    out.double(value);
  }
}

/** Receives the entries of a record in their order. */
export interface BatchSink {
  define(series: Series): void;
  drop(seriesId: number): void;
  /** The next sample is the newest value whatever its time. */
  supersede(seriesId: number): void;
  /** A number, or a boolean as 0 or 1. */
  number(seriesId: number, timestampS: EpochS, value: number): void;
  /** The number `scaled / power`: a fraction handed over as such would be garbage a moment later. */
  decimal(seriesId: number, timestampS: EpochS, scaled: number, power: number): void;
  /** An integer beyond 2^53, or a text. */
  other(seriesId: number, timestampS: EpochS, value: bigint | string): void;
}

interface ReadRecord {
  readonly isKey: boolean;
  readonly isUnderstood: boolean;
  /** Time of the last sample in it; 0 when there is none. */
  lastS: EpochS;
  samples: number;
}

/** True for a record that can be read without earlier ones. */
export function isKeyRecord(record: Uint8Array): boolean {
  return record[0] === BATCH_VERSION && record[1] === KEY;
}

/** Reads records in their order, from a key record on. */
export class BatchReader {
  readonly #codings = new Map<number, SeriesCoding>();
  #shapes: SeriesCoding[][] = [];
  #epoch = 0;
  #isUnderstood = false;

  /**
   * Reads one record into `sink`. It is not understood until a key record was read, at the start and after
   * `interrupt`. @throws RangeError, when the record is not what a writer writes
   */
  read(record: Uint8Array, sink: BatchSink): ReadRecord {
    const reader = new ByteReader(record);
    const version = reader.byte();
    if (version !== BATCH_VERSION) throw new RangeError(`record of version ${version}`);
    const isKey = record[1] === KEY;
    if (isKey) {
      reader.byte();
      this.#epoch++;
      this.#shapes = [];
      this.#isUnderstood = true;
    }
    const read = { isKey, isUnderstood: this.#isUnderstood, lastS: 0, samples: 0 };
    if (read.isUnderstood) this.#readEntries(reader, sink, read);
    return read;
  }

  /** A record is missing: nothing is understood until the next key record. */
  interrupt(): void {
    this.#isUnderstood = false;
  }

  #readEntries(reader: ByteReader, sink: BatchSink, read: ReadRecord): void {
    const epoch = this.#epoch;
    let timestampS: EpochS = 0;
    while (!reader.done) {
      const tag = reader.byte();
      if (tag === SAMPLES) {
        const shape = this.#shapes[reader.unsigned()];
        if (!shape) throw new RangeError('unknown shape');
        timestampS += reader.signed();
        read.samples += shape.length;
        for (const coding of shape) readValue(reader, epoch, coding, timestampS, sink);
      } else if (tag === LOOSE) {
        const coding = this.#codingOf(reader.unsigned());
        timestampS += reader.signed();
        read.samples++;
        readValue(reader, epoch, coding, timestampS, sink);
      } else if (tag === SHAPE) {
        const shape: SeriesCoding[] = [];
        for (let count = reader.unsigned(); count > 0; count--) shape.push(this.#codingOf(reader.unsigned()));
        this.#shapes.push(shape);
      } else if (tag === DEFINE) sink.define(readDefine(reader));
      else if (tag === DROP) sink.drop(reader.unsigned());
      else if (tag === SUPERSEDE) sink.supersede(this.#codingOf(reader.unsigned()).id);
      else throw new RangeError(`unknown entry ${tag}`);
    }
    read.lastS = timestampS;
  }

  #codingOf(reference: number): SeriesCoding {
    const seriesId = Math.floor(reference / KINDS.length);
    const known = this.#codings.get(seriesId);
    if (known) return known;
    const coding = createCoding(seriesId, KINDS[reference % KINDS.length] as SeriesKind);
    this.#codings.set(seriesId, coding);
    return coding;
  }
}

function readDefine(reader: ByteReader): Series {
  const id = reader.unsigned();
  const type = TYPES[reader.byte()];
  if (!type) throw new RangeError('unknown type of a series');
  return { id, type, deviceId: reader.text(), attribute: reader.text() };
}

function readValue(
  reader: ByteReader,
  epoch: number,
  coding: SeriesCoding,
  timestampS: EpochS,
  sink: BatchSink,
): void {
  if (coding.epoch !== epoch) {
    coding.epoch = epoch;
    coding.text = '';
  }
  const code = reader.unsigned();
  if (coding.kind === 'number') {
    if (code % 2 === 0) {
      const zigzag = code / 2;
      coding.scaled += (zigzag >>> 1) ^ -(zigzag & 1);
      tellScaled(coding, timestampS, sink);
    } else readAbsolute(reader, coding, code >>> 1, timestampS, sink);
  } else if (coding.kind === 'boolean') sink.number(coding.id, timestampS, code === 1 ? 1 : 0);
  else {
    if (code === 1) coding.text = reader.text();
    sink.other(coding.id, timestampS, coding.text);
  }
}

function readAbsolute(
  reader: ByteReader,
  coding: SeriesCoding,
  code: number,
  timestampS: EpochS,
  sink: BatchSink,
): void {
  if (code === DOUBLE) sink.number(coding.id, timestampS, reader.double());
  else if (code === INT64) sink.other(coding.id, timestampS, reader.int64());
  else if (code === SINGLE_BITS) sink.number(coding.id, timestampS, reader.float());
  else {
    const isSingle = code >= SINGLE;
    const decimals = isSingle ? code - SINGLE : code;
    if (decimals >= POWERS.length) throw new RangeError(`unknown code ${code} of a number`);
    coding.isSingle = isSingle;
    coding.decimals = decimals;
    coding.scaled = reader.signed();
    tellScaled(coding, timestampS, sink);
  }
}

function tellScaled(coding: SeriesCoding, timestampS: EpochS, sink: BatchSink): void {
  const power = POWERS[coding.decimals] as number;
  if (coding.isSingle) sink.number(coding.id, timestampS, Math.fround(coding.scaled / power));
  else sink.decimal(coding.id, timestampS, coding.scaled, power);
}
