/** Reads samples from where they are: day blocks, parts, the head that is being sealed, the open head. */
import { DAY_S, type DurationS, type EpochS, MINUTE_S } from '../../lib/time.ts';
import { decodeBlock, decodePartCells } from '../codec/block.ts';
import { hasCells } from '../codec/block-parts.ts';
import type { Resolution } from './block-store.ts';
import type { LiveSource, SampleSource, Visitor } from '../query/column-cursor.ts';
import { dayOf, type EngineState, kindOfSeries, reportDamage } from './state.ts';
import type { HeadSeries } from './head.ts';
import type { PartRef } from './part-directory.ts';
import { decodeRollup, lastOf, type Rollup } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';
import type { StoredSample, StoredValue } from '../codec/series.ts';

const RESOLUTIONS: readonly Resolution[] = [1, 60, 900];

/** The data that is not in day blocks. */
interface RecentData {
  /** Samples that are in the journal only, in order of arrival. */
  open(seriesId: number): readonly HeadSeries[];
  /** Parts from this id on are ignored: `open` holds their samples, or they came after the query began. */
  readonly endPartId: number;
}

export class BlockSource implements LiveSource {
  readonly #state: EngineState;
  readonly #recent: RecentData;
  /** Valid within one call. */
  readonly #scratch: Samples;

  /** Reads what is known at the time of each call, or of `recent` only. */
  constructor(state: EngineState, recent = liveData(state), scratch = new Samples('number', 4_096)) {
    this.#state = state;
    this.#recent = recent;
    this.#scratch = scratch;
  }

  asOfNow(seriesIds: readonly number[]): SampleSource {
    const state = this.#state;
    const frozen = new Map(
      [...new Set(seriesIds)].map((seriesId) => [
        seriesId,
        this.#recent.open(seriesId).map((open) => open.frozen()),
      ]),
    );
    const recent: RecentData = {
      // A device that is deleted meanwhile disappears from all columns.
      open: (seriesId) => (state.definitions.has(seriesId) ? (frozen.get(seriesId) ?? []) : []),
      endPartId: state.parts.endId,
    };
    return new BlockSource(state, recent, this.#scratch);
  }

  /** All stored samples of one day in order of time, without those in the journal, into `into`. */
  readStored(seriesId: number, day: number, into: Samples): void {
    this.#readBlock(seriesId, day, into);
    this.#readParts(seriesId, this.#partsWithin(seriesId, day * DAY_S, (day + 1) * DAY_S), into);
    into.normalize();
  }

  rollup(seriesId: number, resolution: Resolution, day: number): Rollup | undefined {
    const bytes = this.#state.store.block(seriesId, resolution, day);
    return bytes && this.#read('rollup', seriesId, () => decodeRollup(seriesId, bytes));
  }

  /** True when parts or the journal may hold samples of this range. */
  hasRecent(seriesId: number, fromS: EpochS, toS: EpochS): boolean {
    return this.#partsWithin(seriesId, fromS, toS).length > 0 || this.#hasOpen(seriesId, fromS, toS);
  }

  visit(seriesId: number, fromS: EpochS, toS: EpochS, granularityS: DurationS, visitor: Visitor): void {
    for (let day = dayOf(fromS); day * DAY_S < toS; day++) {
      const within = { fromS: Math.max(fromS, day * DAY_S), toS: Math.min(toS, (day + 1) * DAY_S) };
      this.#visitDay(seriesId, day, within, granularityS, visitor);
    }
  }

  nextData(seriesId: number, fromS: EpochS, toS: EpochS): number {
    let next = toS;
    for (const resolution of RESOLUTIONS) {
      const day = this.#state.store.firstDay(seriesId, resolution, dayOf(fromS));
      if (day !== undefined) next = Math.min(next, day * DAY_S);
      if (next <= fromS) return fromS;
    }
    for (const { firstS } of this.#partsWithin(seriesId, fromS, next)) next = Math.min(next, firstS);
    for (const open of this.#recent.open(seriesId)) next = Math.min(next, open.nextFrom(fromS));
    return Math.max(fromS, next);
  }

  last(seriesId: number, fromS: EpochS, toS: EpochS): StoredSample | undefined {
    for (let day = dayOf(toS - 1); day >= dayOf(fromS); day--) {
      const within = { fromS: Math.max(fromS, day * DAY_S), toS: Math.min(toS, (day + 1) * DAY_S) };
      const found = this.#sampleOf(seriesId, within, 'last');
      if (found) return found;
      const earlier = this.#lastDayBefore(seriesId, day);
      if (earlier === undefined) return undefined;
      day = Math.min(day, earlier + 1);
    }
    return undefined;
  }

  first(seriesId: number, fromS: EpochS, toS: EpochS): StoredSample | undefined {
    for (let nextS = this.nextData(seriesId, fromS, toS); nextS < toS;) {
      const endS = Math.min(toS, (dayOf(nextS) + 1) * DAY_S);
      const found = this.#sampleOf(seriesId, { fromS: nextS, toS: endS }, 'first');
      if (found) return found;
      nextS = this.nextData(seriesId, endS, toS);
    }
    return undefined;
  }

  #visitDay(
    seriesId: number,
    day: number,
    { fromS, toS }: Stretch,
    granularityS: DurationS,
    visitor: Visitor,
  ): void {
    const scratch = this.#scratch;
    const parts = this.#partsWithin(seriesId, day * DAY_S, (day + 1) * DAY_S);
    const isRecent = parts.length > 0 || this.#hasOpen(seriesId, day * DAY_S, (day + 1) * DAY_S);
    if (!isRecent && granularityS % 900 === 0 && fromS % 900 === 0 && toS % 900 === 0) {
      const cells = this.rollup(seriesId, 900, day);
      if (cells) {
        visitCells(cells, { fromS, toS }, 900, visitor);
        return;
      }
    }
    const apart = isRecent ? this.#partsApart(seriesId, day, parts) : undefined;
    if (apart) {
      for (const part of apart) this.#visitPart(seriesId, part, { fromS, toS }, granularityS, visitor);
      this.#visitOpen(seriesId, { fromS, toS }, visitor);
      return;
    }
    scratch.reset(kindOfSeries(this.#state, seriesId));
    // Where the samples of the day expired or cannot be read, roll-ups stand for them.
    const hasSamplesOfDay = this.#readBlock(seriesId, day, scratch);
    if (isRecent) {
      this.#readParts(seriesId, parts, scratch, { fromS, toS });
      for (const open of this.#recent.open(seriesId)) open.readInto(scratch, fromS, toS);
      scratch.normalize();
    }
    for (const slotS of hasSamplesOfDay ? [] : ([60, 900] as const)) {
      const cells = this.rollup(seriesId, slotS, day);
      if (!cells) continue;
      visitBoth(cells, scratch, { fromS, toS }, slotS, visitor);
      return;
    }
    visitSamples(scratch, fromS, toS, visitor);
  }

  /**
   * The parts of a day in order of time. Undefined where they, open samples or a block overlap: then all samples must be
   * merged, because of one instant the last to arrive counts.
   */
  #partsApart(seriesId: number, day: number, parts: readonly PartRef[]): PartRef[] | undefined {
    if (this.#state.store.hasBlock(seriesId, day)) return undefined;
    const inOrder = parts.toSorted((a, b) => a.firstS - b.firstS);
    let endS = day * DAY_S - 1;
    for (const { firstS, lastS } of inOrder) {
      if (firstS <= endS) return undefined;
      endS = lastS;
    }
    const isOpenLater = this.#recent.open(seriesId).every((open) => open.nextFrom(day * DAY_S) > endS);
    return isOpenLater ? inOrder : undefined;
  }

  /** One of the parts of a day, from its minute cells where they say the same as its samples. */
  #visitPart(
    seriesId: number,
    { id, firstS, lastS }: PartRef,
    { fromS, toS }: Stretch,
    granularityS: DurationS,
    visitor: Visitor,
  ): void {
    if (firstS >= toS || lastS < fromS) return;
    const bytes = this.#state.store.part(id);
    if (!bytes) return;
    const beginsWithCell = firstS >= fromS || fromS % MINUTE_S === 0;
    const endsWithCell = lastS < toS || toS % MINUTE_S === 0;
    if (granularityS % MINUTE_S === 0 && beginsWithCell && endsWithCell && hasCells(bytes)) {
      const cells = this.#read('part', seriesId, () => decodePartCells(seriesId, bytes));
      // A cell begins at its minute, which may be before the range while its first sample is not.
      if (cells) visitCells(cells, { fromS: firstS >= fromS ? 0 : fromS, toS }, MINUTE_S, visitor);
      return;
    }
    this.#scratch.reset(kindOfSeries(this.#state, seriesId));
    if (this.#decode(seriesId, bytes, this.#scratch, 'part'))
      visitSamples(this.#scratch, fromS, toS, visitor);
  }

  /** Samples that are in the journal only. */
  #visitOpen(seriesId: number, { fromS, toS }: Stretch, visitor: Visitor): void {
    this.#scratch.reset(kindOfSeries(this.#state, seriesId));
    for (const open of this.#recent.open(seriesId)) open.readInto(this.#scratch, fromS, toS);
    this.#scratch.normalize();
    visitSamples(this.#scratch, fromS, toS, visitor);
  }

  #readBlock(seriesId: number, day: number, into: Samples): boolean {
    const bytes = this.#state.store.block(seriesId, 1, day);
    return bytes !== undefined && this.#decode(seriesId, bytes, into, 'block');
  }

  /** Those that overlap `within`: a reader of changes needs one of many. */
  #readParts(seriesId: number, parts: readonly PartRef[], into: Samples, within?: Stretch): void {
    for (const { id, firstS, lastS } of parts) {
      if (within && (firstS >= within.toS || lastS < within.fromS)) continue;
      // Absent when a compaction was interrupted: its samples are in the day block.
      const bytes = this.#state.store.part(id);
      if (bytes) this.#decode(seriesId, bytes, into, 'part');
    }
  }

  /** False for a block that cannot be read; `into` is then unchanged. */
  #decode(seriesId: number, bytes: Buffer, into: Samples, what: string): boolean {
    const { count, isOrdered } = into;
    const isRead = this.#read(what, seriesId, () => {
      decodeBlock(seriesId, bytes, into);
      return true;
    });
    if (!isRead) Object.assign(into, { count, isOrdered });
    return isRead === true;
  }

  /** Undefined for bytes that cannot be read, which is reported. */
  #read<Result>(what: string, seriesId: number, decode: () => Result): Result | undefined {
    try {
      return decode();
    } catch (error) {
      reportDamage(this.#state, what, seriesId, error);
      return undefined;
    }
  }

  #hasOpen(seriesId: number, fromS: EpochS, toS: EpochS): boolean {
    return this.#recent.open(seriesId).some((open) => open.nextFrom(fromS) < toS);
  }

  #partsWithin(seriesId: number, fromS: EpochS, toS: EpochS): PartRef[] {
    const { endPartId } = this.#recent;
    return this.#state.parts.within(seriesId, fromS, toS).filter(({ id }) => id < endPartId);
  }

  /** Last day before `day` with data. */
  #lastDayBefore(seriesId: number, day: number): number | undefined {
    const days: number[] = [];
    for (const resolution of RESOLUTIONS) {
      const found = this.#state.store.lastDay(seriesId, resolution, day - 1);
      if (found !== undefined) days.push(found);
    }
    for (const part of this.#partsWithin(seriesId, 0, day * DAY_S)) days.push(part.day);
    for (const open of this.#recent.open(seriesId)) {
      const lastS = open.lastBefore(day * DAY_S);
      if (lastS !== undefined) days.push(dayOf(lastS));
    }
    return days.length > 0 ? Math.max(...days) : undefined;
  }

  /** First or last sample of a range within one day. */
  #sampleOf(seriesId: number, stretch: Stretch, which: 'first' | 'last'): StoredSample | undefined {
    let found: StoredSample | undefined;
    const take = (timestampS: EpochS, value: StoredValue): void => {
      if (!found || which === 'last') found = { timestampS, value };
    };
    this.#visitDay(seriesId, dayOf(stretch.fromS), stretch, 1, {
      samples: (samples, from, to) => {
        const index = which === 'first' ? from : to - 1;
        take(samples.times[index] as number, samples.valueAt(index));
      },
      cells: (cells, from, to) => {
        const cell = which === 'first' ? from : to - 1;
        take(cells.starts[cell] as number, lastOf(cells, cell));
      },
    });
    return found;
  }
}

function liveData(state: EngineState): RecentData {
  return {
    open: (seriesId) => [state.sealing, state.head].flatMap((head) => head?.series.get(seriesId) ?? []),
    endPartId: Number.POSITIVE_INFINITY,
  };
}

interface Stretch {
  fromS: EpochS;
  toS: EpochS;
}

function visitSamples(samples: Samples, fromS: EpochS, toS: EpochS, visitor: Visitor): void {
  const from = samples.indexFrom(fromS);
  const to = samples.indexFrom(toS);
  if (to > from) visitor.samples(samples, from, to);
}

function visitCells(cells: Rollup, { fromS, toS }: Stretch, slotS: DurationS, visitor: Visitor): void {
  const { count, starts } = cells;
  let from = 0;
  while (from < count && (starts[from] as number) < fromS) from++;
  let to = from;
  while (to < count && (starts[to] as number) < toS) to++;
  if (to > from) visitor.cells(cells, from, to, slotS);
}

/** Roll-ups of a day whose samples expired, together with samples that came late. */
function visitBoth(
  cells: Rollup,
  samples: Samples,
  { fromS, toS }: Stretch,
  slotS: DurationS,
  visitor: Visitor,
): void {
  let readToS = fromS;
  for (let cell = 0; cell < cells.count; cell++) {
    const start = cells.starts[cell] as number;
    if (start < fromS || start >= toS) continue;
    visitSamples(samples, readToS, start, visitor);
    readToS = start;
    visitor.cells(cells, cell, cell + 1, slotS);
  }
  visitSamples(samples, readToS, toS, visitor);
}
