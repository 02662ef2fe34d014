/**
 * The changes after a position, for targets that copy the telemetry elsewhere: the store is their queue. The latest
 * changes are read from journal records in order of arrival, earlier ones from what each sealing added, and those from
 * before the list of changes from the whole store. Each sample is read at least once; of one series older changes come
 * before newer ones. A reader that is far behind and wants the newest first skips its backlog, and gets it afterwards
 * block by block, the newest block first.
 */
import type { Limits } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';
import type { BlockSource } from './block-source.ts';
import { type ChangedStretch, encodeChanges, mergedChanges, ordered } from '../codec/change-directory.ts';
import { type ChangePosition, type OwedRange, type ReadPlace, withOwed } from './change-position.ts';
import { type ChangedSamples, ChangeReader, ColumnMemory, type ReadChanges } from './change-reader.ts';
import { RecentRecords } from './recent-records.ts';
import type { EngineState } from './state.ts';

/** One request of a reader who follows the samples of the whole store: where it stands, and how much it takes. */
export interface ChangesPlan {
  /** Undefined: asks only for the position of the store. */
  after: ChangePosition | undefined;
  /** When the whole store must be read: samples from this second on. */
  sinceS: EpochS;
  /** 0: nothing is read, and the position stays; the answer says what waits behind it. */
  samplesMax: number;
  /** A backlog is read later; absent: oldest first. */
  isNewestFirst?: boolean;
}

/** Samples added after a position. */
export interface Changes {
  series: ChangedSamples[];
  /** The position of the reader once it has passed this on. */
  position: ChangePosition;
  /** About how many samples came after it, and when the first of them came; undefined: none. */
  pendingSamples: number;
  pendingSinceS: EpochS | undefined;
  /** Samples that retention removed before they were read. */
  lostSamples: number;
  /** A backlog was skipped: the samples do not follow those that were read before. */
  hasSkipped: boolean;
}

interface ChangeLogOptions {
  state: EngineState;
  source: BlockSource;
  limits: Pick<
    Limits['telemetry'],
    'changeEntries' | 'changeRecentBytes' | 'changeBacklogSamples' | 'changeOwedRanges'
  >;
  /** Calls `took` again for the records that are not sealed. */
  rereadOpen: () => void;
}

export class ChangeLog {
  readonly #state: EngineState;
  readonly #reader: ChangeReader;
  readonly #limits: ChangeLogOptions['limits'];
  readonly #recent: RecentRecords;
  readonly #rereadOpen: () => void;
  #lastSequence = 0;
  #openSinceS: EpochS | undefined;
  /** False: there is no reader of changes, and none are kept. */
  #isKept: boolean;

  constructor({ state, source, limits, rereadOpen }: ChangeLogOptions) {
    this.#state = state;
    this.#rereadOpen = rereadOpen;
    this.#limits = limits;
    this.#recent = new RecentRecords(limits.changeRecentBytes);
    this.#reader = new ChangeReader({ state, source, recent: this.#recent });
    this.#isKept = state.store.number('changes_from') > 0;
  }

  /** Where the journal ends when the store is opened. */
  startAt(lastSequence: number): void {
    this.#lastSequence = lastSequence;
  }

  /** The store applied a record. */
  took(record: { sequence: number; record: Uint8Array; isKey: boolean; samples: number; atS: EpochS }): void {
    this.#lastSequence = Math.max(this.#lastSequence, record.sequence);
    this.#openSinceS ??= record.atS;
    if (this.#isKept) this.#recent.add(record);
  }

  /** When the first sample came that is not sealed; later ones belong to the next sealing. */
  takeOpenSince(): number | undefined {
    const sinceS = this.#openSinceS;
    this.#openSinceS = undefined;
    return sinceS;
  }

  /** Changes after `sequence` are needed; undefined: there is no reader. */
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
  writeSealed(sequence: number, sinceS: EpochS, stretches: readonly ChangedStretch[]): void {
    if (!this.#isKept || stretches.length === 0) return;
    const { store } = this.#state;
    const samples = stretches.reduce((sum, { count }) => sum + count, 0);
    store.putChange({ sequence, sinceS, samples, directory: encodeChanges(ordered(stretches)) });
    if (store.changeCount() > this.#limits.changeEntries) this.#halve();
  }

  sealed(fromSequence: number): void {
    this.#recent.sealed(fromSequence);
  }

  read({ after, sinceS, samplesMax, isNewestFirst = false }: ChangesPlan): Changes {
    if (after && samplesMax === 0) {
      const nothing = { series: [], position: after, lostSamples: 0, hasSkipped: false };
      return { ...this.#pending(this.#known(after, sinceS)), ...nothing };
    }
    const answer: ReadChanges = {
      series: [],
      memory: new ColumnMemory(),
      left: samplesMax,
      lostSamples: 0,
      sinceS,
      block: undefined,
      hasSkipped: false,
    };
    const position = after
      ? this.#follow(this.#known(after, sinceS), isNewestFirst, answer)
      : { sequence: this.#lastSequence };
    const { series, lostSamples, hasSkipped } = answer;
    return { ...this.#pending(position), series, position, lostSamples, hasSkipped };
  }

  /** A position of another history, or from before the list of changes, begins anew with the whole store. */
  #known(after: ChangePosition, sinceS: EpochS): ChangePosition {
    const { sequence, within, owed = [] } = after;
    const upTo = this.#lastSequence;
    const isForeign = Math.max(sequence, within?.upTo ?? 0) > upTo;
    if (!isForeign && within?.isWhole) return after;
    const from = this.#state.store.number('changes_from');
    const isKnown = (place: ReadPlace): boolean =>
      place.within?.isWhole === true || place.sequence + 1 >= from;
    if (!isForeign && this.#isKept && [after, ...owed].every(isKnown)) return after;
    return {
      sequence: isForeign ? 0 : sequence,
      within: { upTo, seriesId: 0, fromS: sinceS, isWhole: true },
    };
  }

  #follow(
    { owed: before = [], ...place }: ChangePosition,
    isNewestFirst: boolean,
    answer: ReadChanges,
  ): ChangePosition {
    const upTo = this.#lastSequence;
    answer.hasSkipped = isNewestFirst && this.#isFarBehind(place);
    let owed = answer.hasSkipped
      ? withOwed(before, { ...place, upTo }, this.#limits.changeOwedRanges)
      : before;
    const next = this.#read(answer.hasSkipped ? { sequence: upTo } : place, answer);
    const isCurrent = next.within === undefined && next.sequence >= upTo;
    if (isCurrent) while (owed.length > 0 && answer.left > 0) owed = this.#readOwed(owed, answer);
    return owed.length > 0 ? { ...next, owed } : next;
  }

  #isFarBehind({ sequence, within }: ReadPlace): boolean {
    if (within?.isWhole) return true;
    // An entry counts all samples of its sealing, however few of them are unread.
    const isAtHand = !within && this.#recent.reaches(sequence, this.#lastSequence);
    const { samples } = isAtHand
      ? this.#recent.between(sequence, this.#lastSequence)
      : this.#pendingOf({ sequence }, this.#lastSequence);
    return samples > this.#limits.changeBacklogSamples;
  }

  /** Reads from the newest block of the backlog; returns what remains of it. */
  #readOwed(owed: readonly OwedRange[], answer: ReadChanges): OwedRange[] {
    const range = owed.at(-1);
    if (!range) return [];
    const { sequence, within, upTo } = range;
    const start = within ? sequence : this.#blockStart(range);
    answer.block = upTo;
    const next = this.#read({ sequence: start, within }, answer, upTo);
    answer.block = undefined;
    return [
      ...owed.slice(0, -1),
      ...(start > sequence ? [{ sequence, upTo: start }] : []),
      ...(next.within || next.sequence < upTo ? [{ ...next, upTo }] : []),
    ];
  }

  /** The record before the newest block of a range, which is one sealing, or the unsealed records from a key record on. */
  #blockStart({ sequence, upTo }: OwedRange): number {
    const { store } = this.#state;
    const isSealed = store.changeAfter(upTo - 1)?.sequence === upTo;
    const atHand = isSealed ? 0 : this.#recent.startBefore(upTo);
    return Math.max(sequence, store.changeAtOrBefore(upTo - 1) ?? 0, atHand);
  }

  /** @param upTo last record to read; absent: all */
  #read({ sequence, within }: ReadPlace, answer: ReadChanges, upTo?: number): ReadPlace {
    if (within?.isWhole) return this.#reader.whole(sequence, within, answer);
    const entry = this.#state.store.changeAfter(sequence);
    const isAtHand = !within && this.#recent.reaches(sequence, this.#lastSequence);
    const isOneSealing = upTo !== undefined && entry !== undefined && entry.sequence <= upTo;
    if (!entry || (isAtHand && !isOneSealing)) return this.#reader.recent(sequence, answer, upTo);
    const from = within?.upTo === entry.sequence ? within : { seriesId: 0, fromS: 0 };
    return this.#reader.sealing(sequence, entry, from, answer);
  }

  #pending({ owed = [], ...place }: ChangePosition): {
    pendingSamples: number;
    pendingSinceS: EpochS | undefined;
  } {
    const all = [...owed, { ...place, upTo: this.#lastSequence }].map((range) =>
      this.#pendingOf(range, range.upTo),
    );
    const since = all.flatMap(({ sinceS }) => sinceS ?? []);
    const samples = all.reduce((sum, pending) => sum + pending.samples, 0);
    return {
      // A range whose samples are not counted still has some.
      pendingSamples: Math.max(samples, owed.length),
      pendingSinceS: since.length > 0 ? Math.min(...since) : undefined,
    };
  }

  #pendingOf({ sequence }: ReadPlace, upTo: number): { samples: number; sinceS: EpochS | undefined } {
    const { store } = this.#state;
    const sealed = store.number('journal_sequence');
    const lastEntry = store.changeAfter(upTo - 1)?.sequence ?? upTo;
    const entries = this.#isKept
      ? store.changesBetween(sequence, lastEntry)
      : { samples: 0, sinceS: undefined };
    const open = this.#recent.between(Math.max(sequence, sealed), upTo);
    return { samples: entries.samples + open.samples, sinceS: entries.sinceS ?? open.sinceS };
  }

  /** Merges neighbours in pairs, so that the list stays bounded however long an outage is. */
  #halve(): void {
    const { store } = this.#state;
    for (let first = store.changeAfter(0); first;) {
      const second = store.changeAfter(first.sequence);
      if (!second) return;
      const directory = encodeChanges(
        mergedChanges(this.#reader.stretchesOf(first), this.#reader.stretchesOf(second)),
      );
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
