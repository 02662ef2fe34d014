/**
 * The head: samples that are in the journal only. Each series keeps its newest ones as plain columns and everything
 * before them as small blocks, so that hours of a whole site fit into a few megabytes.
 */
import type { Buffer } from 'node:buffer';
import type { EpochS } from '../../../lib/time.ts';
import type { BatchSink } from '../codec/batch.ts';
import { decodeBlock, encodeBlock } from '../codec/block.ts';
import { Samples } from '../codec/samples.ts';
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

/** What all series share, those of one head and of its successors. */
interface HeadMemory {
  readonly pages: OpenPages;
  /** Samples of one of the small blocks. */
  readonly chunkSamples: number;
  /** Used within one call only. */
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
  /** The newest samples: so many on pages, of which this is the last, or all in columns, where they are no plain numbers. */
  #count = 0;
  #page = 0;
  #columns: Samples | undefined;
  /** The newest by time since the last `supersede`; of one instant the one that arrived last. */
  #latestS: EpochS | undefined;
  /** Its value, or where on a page it is: each of many values by itself would be garbage at once. */
  #latestValue: StoredValue | undefined;
  #latestPage = 0;
  #latestNumber = 0;
  /** Whose sample came after one of this last time: devices say the same again, in the same order. */
  next: HeadSeries | undefined;
  /** The newest is newer than everything before this series was opened, whatever the times say. */
  #supersedesEarlier = false;

  constructor(id: number, kind: SeriesKind, memory: HeadMemory) {
    this.id = id;
    this.kind = kind;
    this.#memory = memory;
    if (kind === 'text') this.#columns = new Samples(kind);
  }

  /** A number, or a boolean as 0 or 1. */
  push(timestampS: EpochS, value: number): void {
    if (this.#columns) {
      this.#columns.push(timestampS, value);
      this.#note(this.#columns, timestampS, this.#storedOf(value));
      return;
    }
    const { pages, chunkSamples } = this.#memory;
    this.#page = pages.append(this.#page, this.#count, timestampS, value);
    if (this.#latestS === undefined || timestampS >= this.#latestS) {
      this.#latestS = timestampS;
      this.#latestPage = this.#page;
      this.#latestNumber = this.#count;
    }
    if (++this.#count === chunkSamples) this.#close(this.#tail());
  }

  pushInteger(timestampS: EpochS, value: bigint): void {
    const columns = this.#inColumns();
    columns.pushInteger(timestampS, value);
    this.#note(columns, timestampS, value);
  }

  pushText(timestampS: EpochS, value: string): void {
    const columns = this.#inColumns();
    columns.pushText(timestampS, value);
    this.#note(columns, timestampS, value);
  }

  /** What is known so far has the stamp of a clock that was ahead: the next sample is the newest. */
  supersede(): void {
    this.#latestS = undefined;
    this.#latestPage = 0;
    this.#supersedesEarlier = true;
  }

  /** The newest value of the series, when `earlier` was it before this series was opened. */
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

  /** Holds these samples instead of its own, which they are in the form of parts: a tenth of the memory. */
  replaceBy(chunks: Chunk[]): void {
    this.#chunks = chunks;
    this.#columns?.reset(this.kind);
    this.#leavePages();
  }

  /** It was dropped: whoever expects it next finds it no more. */
  end(): void {
    this.replaceBy([]);
    this.id = GONE;
  }

  #leavePages(): void {
    if (this.#latestPage !== 0) this.#latestValue = this.#valueOfLatest();
    this.#latestPage = 0;
    this.#memory.pages.giveBack(this.#page);
    this.#page = 0;
    this.#count = 0;
  }

  /** From here on for samples that pages do not hold: integers beyond 2^53 and texts. */
  #inColumns(): Samples {
    if (this.#columns) return this.#columns;
    const columns = new Samples(this.kind);
    this.#memory.pages.readInto(columns, this.#page, this.#count);
    this.#columns = columns;
    this.#leavePages();
    return columns;
  }

  /** What is not packed; valid until the next call for any series. */
  #tail(): Samples {
    if (this.#columns) return this.#columns;
    const { pages, scratch } = this.#memory;
    scratch.reset(this.kind);
    pages.readInto(scratch, this.#page, this.#count);
    return scratch;
  }

  #orderedTail(): Samples {
    const tail = this.#tail();
    tail.normalize();
    return tail;
  }

  /** What it holds now; samples that come later are not in it. */
  frozen(): HeadSeries {
    const copy = new HeadSeries(this.id, this.kind, this.#memory);
    copy.#chunks = [...this.#chunks];
    copy.#columns = new Samples(this.kind);
    copy.#columns.append(this.#tail());
    return copy;
  }

  /** Appends what lies in [fromS, toS), in order of arrival. */
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

  /** The packed samples, when they and those after them follow each other in time; undefined otherwise. */
  get chunksInOrder(): readonly ChunkRange[] | undefined {
    let endS: EpochS = Number.NEGATIVE_INFINITY;
    for (const { firstS, lastS } of this.#chunks) {
      if (firstS <= endS) return undefined;
      endS = lastS;
    }
    const tail = this.#orderedTail();
    return tail.count === 0 || tail.firstS > endS ? this.#chunks : undefined;
  }

  /** Appends what is packed, from a chunk on. */
  readChunks(from: number, into: Samples): void {
    for (const { bytes } of this.#chunks.slice(from)) decodeBlock(this.id, bytes, into);
  }

  /** Start of the first stretch at or after `fromS` that may hold a sample; infinite when there is none. */
  nextFrom(fromS: EpochS): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { firstS, lastS } of this.#chunks)
      if (lastS >= fromS) next = Math.min(next, Math.max(fromS, firstS));
    const tail = this.#orderedTail();
    const index = tail.indexFrom(fromS);
    return index < tail.count ? Math.min(next, tail.times[index] as number) : next;
  }

  /** Time of some sample before `beforeS`, the last one or a later one within its chunk; undefined: none. */
  lastBefore(beforeS: EpochS): number | undefined {
    let last: number | undefined;
    for (const chunk of this.#chunks)
      if (chunk.firstS < beforeS) last = Math.max(last ?? 0, Math.min(chunk.lastS, beforeS - 1));
    const tail = this.#orderedTail();
    const index = tail.indexFrom(beforeS);
    return index > 0 ? Math.max(last ?? 0, tail.times[index - 1] as number) : last;
  }
}

/** What came since the last sealing, by series. */
export class Head implements BatchSink {
  readonly #options: HeadOptions;
  readonly #series = new Map<number, HeadSeries>();
  readonly #memory: HeadMemory;
  #sampleCount = 0;
  /** Whose sample came last. */
  #last: HeadSeries | undefined;

  /** Memory: of the head whose successor it is. */
  constructor(options: HeadOptions, memory?: HeadMemory) {
    const { chunkSamples } = options;
    this.#options = options;
    this.#memory = memory ?? {
      pages: new OpenPages(),
      chunkSamples,
      scratch: new Samples('number', chunkSamples),
    };
  }

  /** An empty one, with the memory of this one as far as it is given back. */
  successor(): Head {
    return new Head(this.#options, this.#memory);
  }

  /** The one before it has given back all its memory. */
  trim(): void {
    this.#memory.pages.trim();
  }

  get series(): ReadonlyMap<number, HeadSeries> {
    return this.#series;
  }

  /** Samples taken in, overtaken ones included. */
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

  // Counts as a sample, as all entries that are taken in do.
  supersede(seriesId: number): void {
    this.#of(seriesId)?.supersede();
  }

  number(seriesId: number, timestampS: EpochS, value: number): void {
    this.#of(seriesId)?.push(timestampS, value);
  }

  integer(seriesId: number, timestampS: EpochS, value: bigint): void {
    this.#of(seriesId)?.pushInteger(timestampS, value);
  }

  boolean(seriesId: number, timestampS: EpochS, value: boolean): void {
    this.#of(seriesId)?.push(timestampS, Number(value));
  }

  text(seriesId: number, timestampS: EpochS, value: string): void {
    this.#of(seriesId)?.pushText(timestampS, value);
  }

  /** Of thousands of series each look into the map costs more than to keep the sample. */
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
  /** What the series is; undefined when it was dropped or never defined. */
  lookUp: (seriesId: number) => Series | undefined;
  onDefine: (series: Series) => void;
  onDrop: (seriesId: number) => void;
  /** Samples of one of the small blocks. */
  chunkSamples: number;
}
