/**
 * What came after a position, for those who carry the telemetry elsewhere: the store is their queue. What came last is read
 * from records of the journal in order of arrival; what is further back by what each sealing brought, late and
 * imported samples like all others; and where not even that is known any more, from the whole store. Each sample is
 * read at least once; of one series older changes come before newer ones.
 */
import type { BlockSource } from './block-source.ts';
import {
  type ChangedStretch,
  decodeChanges,
  encodeChanges,
  mergedChanges,
  ordered,
} from '../codec/change-directory.ts';
import { type EngineState, kindOfSeries, reportDamage } from './state.ts';
import type { TelemetryType } from '../../../protocol/telemetry.ts';
import type { BatchSink } from '../codec/batch.ts';
import { NOTHING, RecentRecords } from './recent-records.ts';
import { Samples } from '../codec/samples.ts';

/** How far somebody has read; kept by the reader. */
export interface ChangePosition {
  /** All that came up to this record of the journal. */
  sequence: number;
  /** And a part of what came up to `upTo`: what lies before this second of this series, and series before it. */
  within?: { upTo: number; seriesId: number; fromS: number; isWhole: boolean };
}

export interface ChangesPlan {
  /** Undefined: only asked where the store stands now. */
  after: ChangePosition | undefined;
  /** If the whole store must be read: from this second of measurement on. */
  sinceS: number;
  samplesMax: number;
}

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
}

/** What was added since a position. */
export interface Changes {
  series: ChangedSamples[];
  /** Where the reader stands once it has passed this on. */
  position: ChangePosition;
  /** About so many samples came after it, and the first of them then; undefined: none. */
  pendingSamples: number;
  pendingSinceS: number | undefined;
  /** Samples that retention took before they were read. */
  lostSamples: number;
}

/** Later than all samples. */
const END_S = 2 ** 32;
const DAY_S = 86_400;

/** What is read in one go. */
interface Answer {
  series: ChangedSamples[];
  left: number;
  lostSamples: number;
}

interface ChangeLogOptions {
  state: EngineState;
  source: BlockSource;
  limits: { changeEntries: number; changeRecentBytes: number };
  /** Tells `took` the records that are not sealed once more. */
  rereadOpen: () => void;
}

export class ChangeLog {
  readonly #state: EngineState;
  readonly #source: BlockSource;
  readonly #entriesMax: number;
  readonly #recent: RecentRecords;
  readonly #rereadOpen: () => void;
  #lastSequence = 0;
  #openSinceS: number | undefined;
  #isKept = false;

  constructor({ state, source, limits, rereadOpen }: ChangeLogOptions) {
    this.#state = state;
    this.#source = source;
    this.#rereadOpen = rereadOpen;
    this.#entriesMax = limits.changeEntries;
    this.#recent = new RecentRecords(limits.changeRecentBytes);
    this.#isKept = state.store.number('changes_from') > 0;
  }

  /** False: nobody reads changes, and none are kept. */
  get isKept(): boolean {
    return this.#isKept;
  }

  /** Where the journal ends when the store is opened. */
  startAt(lastSequence: number): void {
    this.#lastSequence = lastSequence;
  }

  /** A record that the store took in. */
  took(record: { sequence: number; record: Uint8Array; isKey: boolean; samples: number; atS: number }): void {
    this.#lastSequence = Math.max(this.#lastSequence, record.sequence);
    this.#openSinceS ??= record.atS;
    if (this.#isKept) this.#recent.add(record);
  }

  /** Since when samples were taken in that are not sealed; those that come now are of the next sealing. */
  takeOpenSince(): number | undefined {
    const sinceS = this.#openSinceS;
    this.#openSinceS = undefined;
    return sinceS;
  }

  /** Changes after `sequence` are needed; undefined: nobody reads them. */
  keep(sequence: number | undefined): void {
    const { store } = this.#state;
    if (sequence === undefined) {
      if (!this.#isKept) return;
      this.#isKept = false;
      this.#recent.clear();
      store.transaction(false, () => {
        store.removeChangesUpTo(Number.MAX_SAFE_INTEGER);
        store.setNumber('changes_from', 0);
      });
      return;
    }
    if (!this.#isKept) {
      this.#isKept = true;
      store.transaction(false, () => store.setNumber('changes_from', store.number('journal_sequence') + 1));
      this.#rereadOpen();
    }
    const passed = store.changeAtOrBefore(sequence);
    if (passed === undefined) return;
    store.transaction(false, () => {
      store.removeChangesUpTo(passed);
      store.setNumber('changes_from', Math.max(store.number('changes_from'), passed + 1));
    });
  }

  /** In the transaction that ends a sealing. */
  writeSealed(sequence: number, sinceS: number, stretches: readonly ChangedStretch[]): void {
    if (!this.#isKept || stretches.length === 0) return;
    const { store } = this.#state;
    const samples = stretches.reduce((sum, { count }) => sum + count, 0);
    store.putChange({ sequence, sinceS, samples, directory: encodeChanges(ordered(stretches)) });
    if (store.changeCount() > this.#entriesMax) this.#halve();
  }

  sealed(fromSequence: number): void {
    this.#recent.sealed(fromSequence);
  }

  read({ after, sinceS, samplesMax }: ChangesPlan): Changes {
    const answer: Answer = { series: [], left: samplesMax, lostSamples: 0 };
    const position =
      after === undefined ? { sequence: this.#lastSequence } : this.#read(after, sinceS, answer);
    return { ...this.#pending(position), series: answer.series, position, lostSamples: answer.lostSamples };
  }

  #read(after: ChangePosition, sinceS: number, answer: Answer): ChangePosition {
    const { store } = this.#state;
    // Of another history: it begins anew.
    const isForeign = Math.max(after.sequence, after.within?.upTo ?? 0) > this.#lastSequence;
    const within = isForeign ? undefined : after.within;
    if (within?.isWhole) return this.#readWhole(after.sequence, within, answer, sinceS);
    const isBehind = isForeign || after.sequence + 1 < store.number('changes_from');
    if (!this.#isKept || isBehind)
      return this.#readWhole(
        isForeign ? 0 : after.sequence,
        { upTo: this.#lastSequence, seriesId: 0, fromS: sinceS },
        answer,
        sinceS,
      );
    if (!within && this.#recent.reaches(after.sequence, this.#lastSequence))
      return this.#readRecent(after, answer);
    const entry = store.changeAfter(after.sequence);
    if (!entry) return this.#readRecent(after, answer);
    const from = within?.upTo === entry.sequence ? within : { seriesId: 0, fromS: 0 };
    return this.#readEntry(after.sequence, entry, from, answer);
  }

  #readRecent({ sequence }: ChangePosition, answer: Answer): ChangePosition {
    const collected = new Map<number, Samples>();
    const last = this.#recent.read(sequence, answer.left, this.#collector(collected));
    for (const [seriesId, samples] of collected) {
      samples.normalize();
      this.#take(seriesId, samples, 0, samples.count, answer);
    }
    return { sequence: last };
  }

  #readEntry(
    sequence: number,
    entry: { sequence: number; directory: Buffer },
    from: { seriesId: number; fromS: number },
    answer: Answer,
  ): ChangePosition {
    for (const stretch of this.#stretchesOf(entry)) {
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

  #readWhole(
    sequence: number,
    from: { upTo: number; seriesId: number; fromS: number },
    answer: Answer,
    sinceS: number,
  ): ChangePosition {
    const { definitions } = this.#state;
    const seriesIds = [...definitions.keys()].filter((id) => id >= from.seriesId).sort((a, b) => a - b);
    for (const seriesId of seriesIds) {
      let nextS = Math.max(sinceS, seriesId === from.seriesId ? from.fromS : 0);
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
    fromS: number,
    toS: number,
    answer: Answer,
  ): { count: number; endS: number; hasCells: boolean } {
    const read = { count: 0, endS: toS, hasCells: false };
    this.#source.visit(seriesId, fromS, toS, 1, {
      samples: (samples, from, to) => {
        const end = Math.min(to, from + Math.max(1, answer.left));
        if (end < to) read.endS = samples.times[end] as number;
        read.count += end - from;
        this.#take(seriesId, samples, from, end, answer);
      },
      summary: () => {
        read.hasCells = true;
      },
    });
    return read;
  }

  #take(seriesId: number, samples: Samples, from: number, to: number, answer: Answer): void {
    const series = this.#state.definitions.get(seriesId);
    if (!series || to <= from) return;
    answer.left -= to - from;
    const { deviceId, attribute, type } = series;
    answer.series.push({
      deviceId,
      attribute,
      type,
      times: samples.times.slice(from, to),
      numbers: samples.numbers.slice(from, to),
      integers: samples.integers?.slice(from, to),
      texts: samples.kind === 'text' ? samples.texts.slice() : [],
    });
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
      text: (seriesId, timestampS, value) => of(seriesId).pushText(timestampS, value),
    };
  }

  #pending(position: ChangePosition): { pendingSamples: number; pendingSinceS: number | undefined } {
    const { store } = this.#state;
    const sealed = store.number('journal_sequence');
    const entries = this.#isKept ? store.changesAfter(position.sequence) : { samples: 0, sinceS: undefined };
    const open = this.#recent.after(Math.max(position.sequence, sealed));
    return {
      pendingSamples: entries.samples + open.samples,
      pendingSinceS: entries.sinceS ?? open.sinceS,
    };
  }

  #stretchesOf(entry: { sequence: number; directory: Buffer }): ChangedStretch[] {
    try {
      return decodeChanges(entry.directory);
    } catch (error) {
      reportDamage(this.#state, 'changes', 0, error);
      return [];
    }
  }

  /** Each two neighbours become one, so that an outage of any length stays within bounds. */
  #halve(): void {
    const { store } = this.#state;
    for (let first = store.changeAfter(0); first;) {
      const second = store.changeAfter(first.sequence);
      if (!second) return;
      const directory = encodeChanges(mergedChanges(this.#stretchesOf(first), this.#stretchesOf(second)));
      store.removeChange(first.sequence);
      store.putChange({
        sequence: second.sequence,
        sinceS: first.sinceS,
        samples: first.samples + second.samples,
        directory,
      });
      first = store.changeAfter(second.sequence);
    }
  }
}
