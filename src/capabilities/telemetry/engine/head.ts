/**
 * The head: samples that are in the journal only. Each series keeps its newest ones as plain columns and everything
 * before them as small blocks, so that hours of a whole site fit into a few megabytes.
 */
import type { Buffer } from 'node:buffer';
import type { EpochS } from '../../../lib/time.ts';
import type { BatchSink } from '../codec/batch.ts';
import { decodeBlock, encodeBlock } from '../codec/block.ts';
import { Samples } from '../codec/samples.ts';
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

interface Chunk extends ChunkRange {
  readonly bytes: Buffer;
}

/** Open samples of one series, in order of arrival. */
export class HeadSeries {
  readonly id: number;
  readonly #chunks: Chunk[] = [];
  readonly #tail: Samples;
  /** The newest by time since the last `supersede`; of one instant the one that arrived last. */
  latest: StoredSample | undefined;
  /** Whose sample came after one of this last time: devices say the same again, in the same order. */
  next: HeadSeries | undefined;
  /** `latest` is newer than everything before this series was opened, whatever the times say. */
  supersedesEarlier = false;

  readonly #chunkSamples: number;

  constructor(id: number, kind: SeriesKind, chunkSamples: number) {
    this.id = id;
    this.#chunkSamples = chunkSamples;
    this.#tail = new Samples(kind);
  }

  get kind(): SeriesKind {
    return this.#tail.kind;
  }

  push(timestampS: EpochS, value: number | boolean): void {
    this.#tail.push(timestampS, Number(value));
    this.#note(timestampS, value);
  }

  pushInteger(timestampS: EpochS, value: bigint): void {
    this.#tail.pushInteger(timestampS, value);
    this.#note(timestampS, value);
  }

  pushText(timestampS: EpochS, value: string): void {
    this.#tail.pushText(timestampS, value);
    this.#note(timestampS, value);
  }

  /** What is known so far has the stamp of a clock that was ahead: the next sample is the newest. */
  supersede(): void {
    this.latest = undefined;
    this.supersedesEarlier = true;
  }

  /** The newest value of the series, when `earlier` was it before this series was opened. */
  latestAfter(earlier: StoredSample | undefined): StoredSample | undefined {
    if (!this.latest || !earlier || this.supersedesEarlier) return this.latest ?? earlier;
    return earlier.timestampS <= this.latest.timestampS ? this.latest : earlier;
  }

  #note(timestampS: EpochS, value: StoredValue): void {
    const { latest } = this;
    if (latest === undefined) this.latest = { timestampS, value };
    else if (timestampS >= latest.timestampS) {
      latest.timestampS = timestampS;
      latest.value = value;
    }
    if (this.#tail.count === this.#chunkSamples) this.#close();
  }

  #close(): void {
    const tail = this.#tail;
    tail.normalize();
    const { firstS, lastS, count } = tail;
    this.#chunks.push({ bytes: encodeBlock(this.id, tail, 0, count), firstS, lastS });
    tail.reset(tail.kind);
  }

  /** What it holds now; samples that come later are not in it. */
  frozen(): HeadSeries {
    const copy = new HeadSeries(this.id, this.kind, this.#chunkSamples);
    copy.#chunks.push(...this.#chunks);
    copy.#tail.append(this.#tail);
    return copy;
  }

  /** Appends what lies in [fromS, toS), in order of arrival. */
  readInto(into: Samples, fromS: EpochS, toS: EpochS): void {
    for (const { bytes, firstS, lastS } of this.#chunks) {
      if (firstS >= toS || lastS < fromS) continue;
      if (firstS >= fromS && lastS < toS) decodeBlock(this.id, bytes, into);
      else {
        const whole = new Samples(this.kind, this.#chunkSamples);
        decodeBlock(this.id, bytes, whole);
        into.append(whole, fromS, toS);
      }
    }
    into.append(this.#tail, fromS, toS);
  }

  /** The packed samples, when they and those after them follow each other in time; undefined otherwise. */
  get chunksInOrder(): readonly ChunkRange[] | undefined {
    let endS: EpochS = Number.NEGATIVE_INFINITY;
    for (const { firstS, lastS } of this.#chunks) {
      if (firstS <= endS) return undefined;
      endS = lastS;
    }
    this.#tail.normalize();
    return this.#tail.count === 0 || this.#tail.firstS > endS ? this.#chunks : undefined;
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
    this.#tail.normalize();
    const index = this.#tail.indexFrom(fromS);
    return index < this.#tail.count ? Math.min(next, this.#tail.times[index] as number) : next;
  }

  /** Time of some sample before `beforeS`, the last one or a later one within its chunk; undefined: none. */
  lastBefore(beforeS: EpochS): number | undefined {
    let last: number | undefined;
    for (const chunk of this.#chunks)
      if (chunk.firstS < beforeS) last = Math.max(last ?? 0, Math.min(chunk.lastS, beforeS - 1));
    this.#tail.normalize();
    const index = this.#tail.indexFrom(beforeS);
    return index > 0 ? Math.max(last ?? 0, this.#tail.times[index - 1] as number) : last;
  }
}

/** What came since the last sealing, by series. */
export class Head implements BatchSink {
  readonly #options: HeadOptions;
  readonly #series = new Map<number, HeadSeries>();
  #sampleCount = 0;
  /** Whose sample came last. */
  #last: HeadSeries | undefined;

  constructor(options: HeadOptions) {
    this.#options = options;
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
    this.#of(seriesId)?.push(timestampS, value);
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
    const series = new HeadSeries(seriesId, kindOf(definition.type), this.#options.chunkSamples);
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
