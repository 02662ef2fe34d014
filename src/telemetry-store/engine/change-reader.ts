/** Reads samples that were added to the store: from recent records, from what a sealing added, or from the whole store. */
import { DAY_S, type EpochS } from '../../lib/time.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';
import type { BatchSink } from '../codec/batch.ts';
import { type ChangedStretch, decodeChanges } from '../codec/change-directory.ts';
import { Samples } from '../codec/samples.ts';
import type { BlockSource } from './block-source.ts';
import type { ReadPlace } from './change-position.ts';
import { NO_SINK, type RecentRecords } from './recent-records.ts';
import { type EngineState, kindOfSeries, reportDamage } from './state.ts';

/** Samples of one series, in order of time. Crosses threads. */
export interface ChangedSamples {
  deviceId: string;
  attribute: string;
  type: TelemetryType;
  /** Unix seconds. */
  times: Uint32Array;
  /** Numbers; 0 and 1 for booleans; indexes into `texts`. */
  numbers: Float64Array;
  /** Present where a series has integers beyond 2^53. */
  integers: BigInt64Array | undefined;
  texts: string[];
  /** For a skipped backlog: the samples follow those with the same number, and no others. */
  block?: number | undefined;
}

/** G: every so many characters of a text count as one more sample, so that long texts do not fill the memory. */
const CHARACTERS_OF_A_SAMPLE = 256;

/** The cost of a text beside its sample, in samples. */
const roomOf = (text: string): number => Math.floor(text.length / CHARACTERS_OF_A_SAMPLE);

const costOf = ({ kind, texts, numbers }: Samples, index: number): number =>
  kind === 'text' ? 1 + roomOf(texts[numbers[index] as number] as string) : 1;

/** End of the samples from `from` on that fit into the room left; at least one is taken. */
function endWithin(samples: Samples, from: number, to: number, left: number): number {
  if (samples.kind !== 'text') return Math.min(to, from + Math.max(1, left));
  let end = from;
  for (let room = left; end < to && (end === from || room > 0); end++) room -= costOf(samples, end);
  return end;
}

/** Only the texts that the codes use; the codes become indexes into them. */
function ownTexts(codes: Float64Array, texts: readonly string[]): string[] {
  const places = new Map<number, number>();
  for (const [index, code] of codes.entries()) {
    const place = places.get(code) ?? places.size;
    places.set(code, place);
    codes[index] = place;
  }
  return Array.from(places.keys(), (code) => texts[code] as string);
}

/** Later than every sample. */
const END_S = 2 ** 32;

/** G: samples that fit into one buffer. */
const MEMORY_SAMPLES = 8_192;
/** Rounded up, because numbers must begin at whole words. */
const bytesOf = (samples: number): number => Math.ceil((samples * 12) / 8) * 8;

/** Columns of all series of an answer in few buffers: thousands of single ones are slow to send to another thread. */
export class ColumnMemory {
  #memory = new ArrayBuffer(0);
  #usedBytes = 0;

  /** Copies the samples [from, to); about `expected` samples may follow in all. */
  copy(
    samples: Samples,
    from: number,
    to: number,
    expected: number,
  ): Pick<ChangedSamples, 'times' | 'numbers'> {
    const count = to - from;
    if (this.#usedBytes + bytesOf(count) > this.#memory.byteLength) {
      this.#memory = new ArrayBuffer(bytesOf(Math.max(count, Math.min(expected, MEMORY_SAMPLES))));
      this.#usedBytes = 0;
    }
    const numbers = new Float64Array(this.#memory, this.#usedBytes, count);
    const times = new Uint32Array(this.#memory, this.#usedBytes + numbers.byteLength, count);
    numbers.set(samples.numbers.subarray(from, to));
    times.set(samples.times.subarray(from, to));
    this.#usedBytes += bytesOf(count);
    return { times, numbers };
  }
}

/** The answer of one read. */
export interface ReadChanges {
  series: ChangedSamples[];
  readonly memory: ColumnMemory;
  left: number;
  lostSamples: number;
  /** Where reading begins when the whole store is read. */
  readonly sinceS: EpochS;
  /** See `ChangedSamples`. */
  block: number | undefined;
  hasSkipped: boolean;
}

export class ChangeReader {
  readonly #state: EngineState;
  readonly #source: BlockSource;
  readonly #recent: RecentRecords;

  constructor({ state, source, recent }: { state: EngineState; source: BlockSource; recent: RecentRecords }) {
    this.#state = state;
    this.#source = source;
    this.#recent = recent;
  }

  /** Reads recent records, those up to `upTo` only. */
  recent(sequence: number, answer: ReadChanges, upTo?: number): ReadPlace {
    const collected = new Map<number, Samples>();
    const last = this.#recent.read(sequence, answer.left, this.#collector(collected), upTo);
    for (const [seriesId, samples] of collected) {
      samples.normalize();
      this.#take(seriesId, samples, 0, samples.count, answer);
    }
    return { sequence: last };
  }

  /** Reads what one sealing added. */
  sealing(
    sequence: number,
    entry: { sequence: number; directory: Buffer },
    from: { seriesId: number; fromS: EpochS },
    answer: ReadChanges,
  ): ReadPlace {
    for (const stretch of this.stretchesOf(entry)) {
      const { seriesId, firstS, lastS } = stretch;
      if (seriesId < from.seriesId || (seriesId === from.seriesId && lastS < from.fromS)) continue;
      if (!this.#state.definitions.has(seriesId)) continue;
      if (answer.left <= 0)
        return { sequence, within: { upTo: entry.sequence, seriesId, fromS: firstS, isWhole: false } };
      const fromS = seriesId === from.seriesId ? Math.max(firstS, from.fromS) : firstS;
      const read = this.#readRange(seriesId, fromS, lastS + 1, answer);
      // Retention removes whole days: a range that was read in part is complete.
      if (read.hasCells || read.count === 0) answer.lostSamples += Math.max(0, stretch.count - read.count);
      if (read.endS <= lastS)
        return { sequence, within: { upTo: entry.sequence, seriesId, fromS: read.endS, isWhole: false } };
    }
    return { sequence: entry.sequence };
  }

  /** Reads everything that is stored, series by series. */
  whole(
    sequence: number,
    from: { upTo: number; seriesId: number; fromS: EpochS },
    answer: ReadChanges,
  ): ReadPlace {
    const { definitions } = this.#state;
    const seriesIds = [...definitions.keys()].filter((id) => id >= from.seriesId).sort((a, b) => a - b);
    for (const seriesId of seriesIds) {
      let nextS = Math.max(answer.sinceS, seriesId === from.seriesId ? from.fromS : 0);
      for (; nextS < END_S;) {
        if (answer.left <= 0)
          return { sequence, within: { upTo: from.upTo, seriesId, fromS: nextS, isWhole: true } };
        nextS = this.#source.nextData(seriesId, nextS, END_S);
        if (nextS >= END_S) break;
        nextS = this.#readRange(seriesId, nextS, nextS - (nextS % DAY_S) + DAY_S, answer).endS;
      }
    }
    return { sequence: from.upTo };
  }

  /** Reads a range within one day as far as there is room; `endS` is where it stopped. */
  #readRange(
    seriesId: number,
    fromS: EpochS,
    toS: EpochS,
    answer: ReadChanges,
  ): { count: number; endS: EpochS; hasCells: boolean } {
    const read = { count: 0, endS: toS, hasCells: false };
    this.#source.visit(seriesId, fromS, toS, 1, {
      samples: (samples, from, to) => {
        const end = endWithin(samples, from, to, answer.left);
        if (end < to) read.endS = samples.times[end] as number;
        read.count += end - from;
        this.#take(seriesId, samples, from, end, answer);
      },
      cells: () => {
        read.hasCells = true;
      },
    });
    return read;
  }

  #take(seriesId: number, samples: Samples, from: number, to: number, answer: ReadChanges): void {
    const series = this.#state.definitions.get(seriesId);
    if (!series || to <= from) return;
    const { deviceId, attribute, type } = series;
    const changed: ChangedSamples = {
      deviceId,
      attribute,
      type,
      ...answer.memory.copy(samples, from, to, answer.left),
      integers: samples.integers?.slice(from, to),
      texts: [],
      block: answer.block,
    };
    if (samples.kind === 'text') changed.texts = ownTexts(changed.numbers, samples.texts);
    answer.series.push(changed);
    for (let index = from; index < to; index++) answer.left -= costOf(samples, index);
  }

  #collector(into: Map<number, Samples>): BatchSink & { readonly count: number } {
    let count = 0;
    const of = (seriesId: number): Samples => {
      count++;
      let samples = into.get(seriesId);
      if (!samples) into.set(seriesId, (samples = new Samples(kindOfSeries(this.#state, seriesId))));
      return samples;
    };
    return {
      ...NO_SINK,
      get count() {
        return count;
      },
      number: (seriesId, timestampS, value) => of(seriesId).push(timestampS, value),
      decimal: (seriesId, timestampS, scaled, power) => of(seriesId).push(timestampS, scaled / power),
      other: (seriesId, timestampS, value) => {
        of(seriesId).pushOther(timestampS, value);
        if (typeof value === 'string') count += roomOf(value);
      },
    };
  }

  stretchesOf(entry: { sequence: number; directory: Buffer }): ChangedStretch[] {
    try {
      return decodeChanges(entry.directory);
    } catch (error) {
      reportDamage(this.#state, 'changes', 0, error);
      return [];
    }
  }
}
