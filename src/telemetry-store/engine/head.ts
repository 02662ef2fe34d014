/**
 * The head: samples that are in the journal only. Each series keeps its newest ones as plain columns and earlier ones as
 * small blocks, so that hours of a whole site fit into a few megabytes.
 */
import type { Buffer } from 'node:buffer';
import type { EpochS } from '../../lib/time.ts';
import type { BatchSink } from '../codec/batch.ts';
import { decodeBlock, encodeBlock } from '../codec/block.ts';
import { Samples } from '../codec/samples.ts';
import { TextCodes } from '../codec/text-codes.ts';
import { OpenPages } from './open-pages.ts';
import {
  type StoredSample,
  kindOf,
  type Series,
  type SeriesKind,
  type StoredValue,
} from '../codec/series.ts';

interface ChunkRange {
  readonly firstS: EpochS;
  readonly lastS: EpochS;
}

/** Packed samples, in order of time. */
export interface Chunk extends ChunkRange {
  readonly bytes: Buffer;
}

/** Memory that all series of a head and its successors share. */
interface HeadMemory {
  readonly pages: OpenPages;
  /** Samples of a small block. */
  readonly chunkSamples: number;
  /** Valid within one call. */
  readonly scratch: Samples;
}

/** No series has this id. */
const GONE = -1;

/** Open samples of one series, in order of arrival. */
export class HeadSeries {
  id: number;
  readonly kind: SeriesKind;
  readonly #memory: HeadMemory;
  #chunks: Chunk[] = [];
  /** The newest samples: either this many on pages that end with this one, or in columns where pages cannot hold them. */
  #count = 0;
  #page = 0;
  #columns: Samples | undefined;
  /** The texts whose numbers are on the pages. */
  #textCodes: TextCodes | undefined;
  /** The newest sample since the last `supersede`; of one instant the last to arrive. */
  #latestS: EpochS | undefined;
  /** Its value, or its place on a page: to allocate each of many values would only make garbage. */
  #latestValue: StoredValue | undefined;
  #latestPage = 0;
  #latestNumber = 0;
  /** The series whose sample followed one of this series last: devices repeat the same order. */
  next: HeadSeries | undefined;
  /** The newest sample here is newer than all sealed ones, whatever their times. */
  #supersedesEarlier = false;

  constructor(id: number, kind: SeriesKind, memory: HeadMemory) {
    this.id = id;
    this.kind = kind;
    this.#memory = memory;
    if (kind === 'text') this.#textCodes = new TextCodes();
  }

  /** The number `scaled / power`, a boolean as 0 or 1, or the number of a text. */
  push(timestampS: EpochS, scaled: number, power = 1): void {
    if (this.#columns) {
      const value = scaled / power;
      this.#columns.push(timestampS, value);
      this.#note(this.#columns, timestampS, this.#storedOf(value));
      return;
    }
    const { pages, chunkSamples } = this.#memory;
    this.#page = pages.append(this.#page, this.#count, timestampS, scaled, power);
    if (this.#latestS === undefined || timestampS >= this.#latestS) {
      this.#latestS = timestampS;
      this.#latestPage = this.#page;
      this.#latestNumber = this.#count;
    }
    if (++this.#count === chunkSamples) this.#close(this.#tail());
  }

  /** An integer beyond 2^53, or a text. */
  pushOther(timestampS: EpochS, value: bigint | string): void {
    if (this.#textCodes && typeof value === 'string') {
      this.push(timestampS, this.#textCodes.codeOf(value));
      return;
    }
    const columns = this.#inColumns();
    columns.pushOther(timestampS, value);
    this.#note(columns, timestampS, value);
  }

  /** Earlier samples have the stamp of a clock that was ahead: the next sample is the newest. */
  supersede(): void {
    this.#latestS = undefined;
    this.#latestPage = 0;
    this.#supersedesEarlier = true;
  }

  /** The newest value of the series; `earlier` is the newest of the sealed ones. */
  latestAfter(earlier: StoredSample | undefined): StoredSample | undefined {
    const timestampS = this.#latestS;
    if (timestampS === undefined) return earlier;
    if (earlier && !this.#supersedesEarlier && earlier.timestampS > timestampS) return earlier;
    return { timestampS, value: this.#valueOfLatest() };
  }

  #valueOfLatest(): StoredValue {
    if (this.#latestPage === 0) return this.#latestValue as StoredValue;
    return this.#storedOf(this.#memory.pages.numberAt(this.#latestPage, this.#latestNumber));
  }

  #storedOf(value: number): StoredValue {
    if (this.#textCodes) return this.#textCodes.texts[value] as string;
    return this.kind === 'boolean' ? value === 1 : value;
  }

  #note(columns: Samples, timestampS: EpochS, value: StoredValue): void {
    if (this.#latestS === undefined || timestampS >= this.#latestS) {
      this.#latestS = timestampS;
      this.#latestValue = value;
    }
    if (columns.count === this.#memory.chunkSamples) this.#close(columns);
  }

  #close(tail: Samples): void {
    tail.normalize();
    const { firstS, lastS, count } = tail;
    this.#chunks.push({ bytes: encodeBlock(this.id, tail, 0, count), firstS, lastS });
    this.#columns?.reset(this.kind);
    this.#leavePages();
  }

  /** Replaces its samples by the same ones in the form of parts, which take a tenth of the memory. */
  replaceBy(chunks: Chunk[]): void {
    this.#chunks = chunks;
    this.#columns?.reset(this.kind);
    this.#leavePages();
  }

  /** The series was dropped: `next` must not find it any more. */
  end(): void {
    this.replaceBy([]);
    this.id = GONE;
  }

  #leavePages(): void {
    if (this.#latestPage !== 0) this.#latestValue = this.#valueOfLatest();
    this.#latestPage = 0;
    if (this.#textCodes) this.#textCodes = new TextCodes();
    this.#memory.pages.giveBack(this.#page);
    this.#page = 0;
    this.#count = 0;
  }

  /** Moves to columns for samples that pages cannot hold: integers beyond 2^53. */
  #inColumns(): Samples {
    if (this.#columns) return this.#columns;
    const columns = new Samples(this.kind);
    this.#memory.pages.readInto(columns, this.#page, this.#count);
    this.#columns = columns;
    this.#leavePages();
    return columns;
  }

  /** The samples that are not packed; valid until the next call for any series. */
  #tail(): Samples {
    if (this.#columns) return this.#columns;
    const { pages, scratch } = this.#memory;
    scratch.reset(this.kind);
    if (this.#textCodes) scratch.textCodes = this.#textCodes;
    pages.readInto(scratch, this.#page, this.#count);
    return scratch;
  }

  #orderedTail(): Samples {
    const tail = this.#tail();
    tail.normalize();
    return tail;
  }

  /** A copy of what it holds now. */
  frozen(): HeadSeries {
    const copy = new HeadSeries(this.id, this.kind, this.#memory);
    copy.#chunks = [...this.#chunks];
    copy.#columns = new Samples(this.kind);
    copy.#columns.append(this.#tail());
    return copy;
  }

  /** Appends the samples of [fromS, toS) in order of arrival. */
  readInto(into: Samples, fromS: EpochS, toS: EpochS): void {
    for (const { bytes, firstS, lastS } of this.#chunks) {
      if (firstS >= toS || lastS < fromS) continue;
      if (firstS >= fromS && lastS < toS) decodeBlock(this.id, bytes, into);
      else {
        const whole = new Samples(this.kind, this.#memory.chunkSamples);
        decodeBlock(this.id, bytes, whole);
        into.append(whole, fromS, toS);
      }
    }
    into.append(this.#tail(), fromS, toS);
  }

  /** The first second, at or after `fromS`, that may have a sample; infinite when there is none. */
  nextFrom(fromS: EpochS): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { firstS, lastS } of this.#chunks)
      if (lastS >= fromS) next = Math.min(next, Math.max(fromS, firstS));
    const tail = this.#orderedTail();
    const index = tail.indexFrom(fromS);
    return index < tail.count ? Math.min(next, tail.times[index] as number) : next;
  }

  /** A second before `beforeS`, at or after the last sample before it; undefined when there is none. */
  lastBefore(beforeS: EpochS): number | undefined {
    let last: number | undefined;
    for (const chunk of this.#chunks)
      if (chunk.firstS < beforeS) last = Math.max(last ?? 0, Math.min(chunk.lastS, beforeS - 1));
    const tail = this.#orderedTail();
    const index = tail.indexFrom(beforeS);
    return index > 0 ? Math.max(last ?? 0, tail.times[index - 1] as number) : last;
  }
}

/** The samples since the last sealing, by series. */
export class Head implements BatchSink {
  readonly #options: HeadOptions;
  readonly #series = new Map<number, HeadSeries>();
  readonly #memory: HeadMemory;
  #sampleCount = 0;
  /** The series whose sample came last. */
  #last: HeadSeries | undefined;

  /** @param memory that of the previous head */
  constructor(options: HeadOptions, memory?: HeadMemory) {
    const { chunkSamples } = options;
    this.#options = options;
    this.#memory = memory ?? {
      pages: new OpenPages(),
      chunkSamples,
      scratch: new Samples('number', chunkSamples),
    };
  }

  /** An empty head, which reuses the memory that this one gives back. */
  successor(): Head {
    return new Head(this.#options, this.#memory);
  }

  /** The previous head has given back all its memory: frees what is too much. */
  trim(): void {
    this.#memory.pages.trim();
  }

  get series(): ReadonlyMap<number, HeadSeries> {
    return this.#series;
  }

  /** Samples so far, including those that later ones replaced. */
  get sampleCount(): number {
    return this.#sampleCount;
  }

  define(series: Series): void {
    this.#options.onDefine(series);
  }

  drop(seriesId: number): void {
    this.#series.get(seriesId)?.end();
    this.#series.delete(seriesId);
    this.#options.onDrop(seriesId);
  }

  // Counts as a sample, like every other entry of a series.
  supersede(seriesId: number): void {
    this.#of(seriesId)?.supersede();
  }

  number(seriesId: number, timestampS: EpochS, value: number): void {
    this.#of(seriesId)?.push(timestampS, value);
  }

  decimal(seriesId: number, timestampS: EpochS, scaled: number, power: number): void {
    this.#of(seriesId)?.push(timestampS, scaled, power);
  }

  other(seriesId: number, timestampS: EpochS, value: bigint | string): void {
    this.#of(seriesId)?.pushOther(timestampS, value);
  }

  /** With thousands of series a lookup in the map costs more than storing the sample, so the order is learned. */
  #of(seriesId: number): HeadSeries | undefined {
    this.#sampleCount++;
    const expected = this.#last?.next;
    const series = expected?.id === seriesId ? expected : this.#find(seriesId);
    if (series && series !== expected && this.#last) this.#last.next = series;
    this.#last = series;
    return series;
  }

  #find(seriesId: number): HeadSeries | undefined {
    const known = this.#series.get(seriesId);
    if (known) return known;
    const definition = this.#options.lookUp(seriesId);
    if (!definition) return undefined;
    const series = new HeadSeries(seriesId, kindOf(definition.type), this.#memory);
    this.#series.set(seriesId, series);
    return series;
  }
}

interface HeadOptions {
  /** Undefined for a series that was dropped or never defined. */
  lookUp: (seriesId: number) => Series | undefined;
  onDefine: (series: Series) => void;
  onDrop: (seriesId: number) => void;
  /** Samples of a small block. */
  chunkSamples: number;
}
