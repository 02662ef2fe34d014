/** Reads samples that were added to the store from where they are: the records at hand, a sealing, or all that is stored. */
import type { EpochS } from '../../../lib/time.ts';
import type { TelemetryType } from '../../../protocol/telemetry.ts';
import type { BatchSink } from '../codec/batch.ts';
import { type ChangedStretch, decodeChanges } from '../codec/change-directory.ts';
import { Samples } from '../codec/samples.ts';
import type { BlockSource } from './block-source.ts';
import type { ReadPlace } from './change-position.ts';
import { NOTHING, type RecentRecords } from './recent-records.ts';
import { type EngineState, kindOfSeries, reportDamage } from './state.ts';

/** Samples of one series, in order of time. Crosses threads. */
export interface ChangedSamples {
  deviceId: string;
  attribute: string;
  type: TelemetryType;
  /** Unix seconds. */
  times: Uint32Array;
  /** Numbers, 0 and 1 for booleans, indexes into `texts`. */
  numbers: Float64Array;
  /** Exact, where a series has integers beyond 2^53. */
  integers: BigInt64Array | undefined;
  texts: string[];
  /** Of what was missed: they follow those with the same number, and no others. */
  block?: number | undefined;
}

/** G: a text of so many characters takes the room of one more sample, so that long ones do not fill the memory. */
const CHARACTERS_OF_A_SAMPLE = 256;

/** Beside its sample, in samples. */
const roomOf = (text: string): number => Math.floor(text.length / CHARACTERS_OF_A_SAMPLE);

const costOf = ({ kind, texts, numbers }: Samples, index: number): number =>
  kind === 'text' ? 1 + roomOf(texts[numbers[index] as number] as string) : 1;

/** Behind the last sample from `from` on for which there is room; one is always taken. */
function endWithin(samples: Samples, from: number, to: number, left: number): number {
  if (samples.kind !== 'text') return Math.min(to, from + Math.max(1, left));
  let end = from;
  for (let room = left; end < to && (end === from || room > 0); end++) room -= costOf(samples, end);
  return end;
}

/** Those texts alone that the codes name, which are then indexes into them. */
function ownTexts(codes: Float64Array, texts: readonly string[]): string[] {
  const places = new Map<number, number>();
  for (const [index, code] of codes.entries()) {
    const place = places.get(code) ?? places.size;
    places.set(code, place);
    codes[index] = place;
  }
  return Array.from(places.keys(), (code) => texts[code] as string);
}

/** Later than all samples. */
const END_S = 2 ** 32;
const DAY_S = 86_400;

/** G: samples for which there is room in one piece of memory. */
const MEMORY_SAMPLES = 8_192;
/** Numbers begin at whole words. */
const bytesOf = (samples: number): number => Math.ceil((samples * 12) / 8) * 8;

/** Columns of the series of one answer in one piece of memory: alone each of thousands would cross threads by itself. */
export class ColumnMemory {
  #memory = new ArrayBuffer(0);
  #usedBytes = 0;

  /** A copy of the samples from `from` on, before `to`; with them some `expected` ones may come. */
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

/** What is read in one go. */
export interface ReadChanges {
  series: ChangedSamples[];
  readonly memory: ColumnMemory;
  left: number;
  lostSamples: number;
  /** If the whole store is read. */
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

  /** Records that are at hand; `upTo`: those that came later are left. */
  recent(sequence: number, answer: ReadChanges, upTo?: number): ReadPlace {
    const collected = new Map<number, Samples>();
    const last = this.#recent.read(sequence, answer.left, this.#collector(collected), upTo);
    for (const [seriesId, samples] of collected) {
      samples.normalize();
      this.#take(seriesId, samples, 0, samples.count, answer);
    }
    return { sequence: last };
  }

  /** What one sealing brought. */
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
      // What a day lost, it lost as a whole; a stretch that was read in part was there.
      if (read.hasCells || read.count === 0) answer.lostSamples += Math.max(0, stretch.count - read.count);
      if (read.endS <= lastS)
        return { sequence, within: { upTo: entry.sequence, seriesId, fromS: read.endS, isWhole: false } };
    }
    return { sequence: entry.sequence };
  }

  /** Everything that is stored, series by series. */
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

  /** Samples of a stretch within one day, as far as there is room; `endS` is the end of what was read. */
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
      ...NOTHING,
      get count() {
        return count;
      },
      number: (seriesId, timestampS, value) => of(seriesId).push(timestampS, value),
      integer: (seriesId, timestampS, value) => of(seriesId).pushInteger(timestampS, value),
      boolean: (seriesId, timestampS, value) => of(seriesId).push(timestampS, Number(value)),
      text: (seriesId, timestampS, value) => {
        of(seriesId).pushText(timestampS, value);
        count += roomOf(value);
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
