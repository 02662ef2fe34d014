/** Reads samples from where they are: day blocks, parts, the head that is being sealed, the open head. */
import { DAY_S, type DurationS, type EpochS } from '../../lib/time.ts';
import { decodeBlock } from '../codec/block.ts';
import type { Resolution } from './block-store.ts';
import type { LiveSource, SampleSource, Visitor } from '../query/column-cursor.ts';
import { dayOf, type EngineState, kindOfSeries, reportDamage } from './state.ts';
import type { HeadSeries } from './head.ts';
import type { DayMinutes, MinuteCells } from './minute-cells.ts';
import type { PartRef } from './part-directory.ts';
import { decodeRollup, lastOf, type Rollup } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';
import type { StoredSample, StoredValue } from '../codec/series.ts';

const RESOLUTIONS: readonly Resolution[] = [1, 60, 900];

/** The data that is not in day blocks, and what one query remembers. */
interface RecentData {
  /** Samples that are in the journal only, in order of arrival. */
  open(seriesId: number): readonly HeadSeries[];
  /** Parts from this id on are ignored: `open` holds their samples, or they came after the query began. */
  readonly endPartId: number;
  /** Only for a query, whose columns read the same day one after the other. */
  readonly lastQuarterHours?: QuartersOfDay;
}

export class BlockSource implements LiveSource {
  readonly #state: EngineState;
  readonly #recent: RecentData;
  /** Valid within one call. */
  readonly #scratch: Samples;
  readonly #minutes: MinuteCells;

  /** Reads what is known at the time of each call, or of `recent` only. */
  constructor(
    state: EngineState,
    minutes: MinuteCells,
    recent = liveData(state),
    scratch = new Samples('number', 4_096),
  ) {
    this.#state = state;
    this.#minutes = minutes;
    this.#recent = recent;
    this.#scratch = scratch;
  }

  asOfNow(seriesIds: readonly number[]): SampleSource {
    const state = this.#state;
    const frozen = new Map(
      seriesIds.map((seriesId) => [seriesId, this.#recent.open(seriesId).map((open) => open.frozen())]),
    );
    const recent: RecentData = {
      // A device that is deleted meanwhile disappears from all columns.
      open: (seriesId) => (state.definitions.has(seriesId) ? (frozen.get(seriesId) ?? []) : []),
      endPartId: state.parts.endId,
      lastQuarterHours: { seriesId: -1, day: -1, cells: undefined },
    };
    return new BlockSource(state, this.#minutes, recent, this.#scratch);
  }

  /** All stored samples of one day in order of time, without those in the journal, into `into`. */
  readStored(seriesId: number, day: number, into: Samples): void {
    this.#readBlock(seriesId, day, into);
    this.#readParts(seriesId, day, into);
    into.normalize();
  }

  rollup(seriesId: number, resolution: Resolution, day: number): Rollup | undefined {
    const bytes = this.#state.store.block(seriesId, resolution, day);
    if (!bytes) return undefined;
    try {
      return decodeRollup(seriesId, bytes);
    } catch (error) {
      reportDamage(this.#state, 'rollup', seriesId, error);
      return undefined;
    }
  }

  /** True when parts or the journal may hold samples of this range. */
  hasRecent(seriesId: number, fromS: EpochS, toS: EpochS): boolean {
    return (
      this.#partsWithin(seriesId, fromS, toS).length > 0 ||
      this.#recent.open(seriesId).some((open) => open.nextFrom(fromS) < toS)
    );
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
    const isRecent = this.hasRecent(seriesId, day * DAY_S, (day + 1) * DAY_S);
    if (!isRecent && granularityS % 900 === 0 && fromS % 900 === 0 && toS % 900 === 0) {
      const cells = this.#quarterHours(seriesId, day);
      if (cells) {
        visitCells(cells, { fromS, toS }, 900, visitor);
        return;
      }
    }
    const isByMinutes = granularityS % this.#minutes.slotS === 0;
    const isToMinute = isByMinutes && toS % this.#minutes.slotS === 0;
    const known = isToMinute ? this.#minutes.ofDay(seriesId, day, fromS) : undefined;
    const mayHaveBlock = known || !isByMinutes || !isRecent || this.#state.store.hasBlock(seriesId, day);
    scratch.reset(kindOfSeries(this.#state, seriesId));
    // Where the samples of the day expired or cannot be read, roll-ups stand for them.
    let hasSamplesOfDay = !known && mayHaveBlock && this.#readBlock(seriesId, day, scratch);
    // Whole days belong to long ranges: they would only displace what charts ask for again.
    const isKept = hasSamplesOfDay && isByMinutes && fromS % DAY_S !== 0;
    const added = isKept ? this.#minutes.addDay(seriesId, day, scratch, fromS) : undefined;
    const minutes = isToMinute ? (known ?? added) : undefined;
    const parts = minutes || !mayHaveBlock ? this.#partsApart(seriesId, day, minutes) : undefined;
    if (parts) {
      if (minutes) this.#visitMinutes(minutes, { fromS, toS }, visitor);
      for (const part of parts) this.#visitPart(seriesId, part, { fromS, toS }, visitor);
      this.#visitOpen(seriesId, { fromS, toS }, visitor);
      return;
    }
    if (known) hasSamplesOfDay = this.#readBlock(seriesId, day, scratch);
    if (isRecent) {
      this.#readParts(seriesId, day, scratch, { fromS, toS });
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

  /** A day block from its minute cells, without reading it. */
  #visitMinutes({ cells, edge }: DayMinutes, { fromS, toS }: Stretch, visitor: Visitor): void {
    const { slotS } = this.#minutes;
    const minuteS = Math.ceil(fromS / slotS) * slotS;
    visitSamples(edge.samples, fromS, minuteS, visitor);
    visitCells(cells, { fromS: minuteS, toS }, slotS, visitor);
  }

  #quarterHours(seriesId: number, day: number): Rollup | undefined {
    const last = this.#recent.lastQuarterHours;
    if (last?.seriesId === seriesId && last.day === day) return last.cells;
    const cells = this.rollup(seriesId, 900, day);
    if (last) Object.assign(last, { seriesId, day, cells });
    return cells;
  }

  /**
   * The parts of a day in order of time. Undefined where parts, open samples or the block overlap: then all samples must
   * be merged, because of one instant the last to arrive counts.
   */
  #partsApart(seriesId: number, day: number, block: DayMinutes | undefined): PartRef[] | undefined {
    const refs = this.#state.parts.ofDay(seriesId, day).filter(({ id }) => id < this.#recent.endPartId);
    refs.sort((a, b) => a.firstS - b.firstS);
    let endS = block?.lastS ?? day * DAY_S - 1;
    for (const { firstS, lastS } of refs) {
      if (firstS <= endS) return undefined;
      endS = lastS;
    }
    const isOpenLater = this.#recent.open(seriesId).every((open) => open.nextFrom(day * DAY_S) > endS);
    return isOpenLater ? refs : undefined;
  }

  #visitPart(
    seriesId: number,
    { id, firstS, lastS }: PartRef,
    { fromS, toS }: Stretch,
    visitor: Visitor,
  ): void {
    if (firstS >= toS || lastS < fromS) return;
    const isWhole = firstS >= fromS && lastS < toS;
    let cells = isWhole ? this.#minutes.get(id) : undefined;
    if (!cells) {
      const bytes = this.#state.store.part(id);
      this.#scratch.reset(kindOfSeries(this.#state, seriesId));
      if (!bytes || !this.#decode(seriesId, bytes, this.#scratch, 'part')) return;
      if (isWhole) cells = this.#minutes.add(id, this.#scratch);
    }
    // A cell begins at its minute, before its first sample.
    if (cells) visitCells(cells, { fromS: 0, toS }, this.#minutes.slotS, visitor);
    else visitSamples(this.#scratch, fromS, toS, visitor);
  }

  /** Samples that are in the journal only: on a small site those of hours, too many to decode for each chart. */
  #visitOpen(seriesId: number, stretch: Stretch, visitor: Visitor): void {
    const opens = this.#recent.open(seriesId);
    const [first, second] = opens;
    if (first && second && second.nextFrom(0) <= (first.lastBefore(Number.POSITIVE_INFINITY) ?? -1))
      this.#visitSamplesOf(seriesId, opens, stretch, visitor);
    else for (const open of opens) this.#visitOpenByMinutes(seriesId, open, stretch, visitor);
  }

  #visitOpenByMinutes(seriesId: number, open: HeadSeries, { fromS, toS }: Stretch, visitor: Visitor): void {
    const { slotS } = this.#minutes;
    const chunks = open.chunksInOrder ?? [];
    const packedToS = (chunks.at(-1)?.lastS ?? -1) + 1;
    // For a short range it is cheaper to read its samples.
    const isWide = (toS - fromS) * 2 >= packedToS - (chunks[0]?.firstS ?? 0);
    const decode = (from: number): Samples => {
      this.#scratch.reset(open.kind);
      open.readChunks(from, this.#scratch);
      return this.#scratch;
    };
    const cells =
      open.kind !== 'text' && (toS % slotS === 0 || toS >= packedToS)
        ? this.#minutes.ofOpen(chunks, isWide, decode)
        : undefined;
    if (!cells) {
      this.#visitSamplesOf(seriesId, [open], { fromS, toS }, visitor);
      return;
    }
    const minuteS = Math.ceil(fromS / slotS) * slotS;
    const edge = { fromS, toS: Math.min(minuteS, packedToS, toS) };
    if (edge.toS > fromS) this.#visitSamplesOf(seriesId, [open], edge, visitor);
    visitCells(cells, { fromS: minuteS, toS }, slotS, visitor);
    this.#visitSamplesOf(seriesId, [open], { fromS: Math.max(fromS, packedToS), toS }, visitor);
  }

  #visitSamplesOf(
    seriesId: number,
    opens: readonly HeadSeries[],
    { fromS, toS }: Stretch,
    visitor: Visitor,
  ): void {
    this.#scratch.reset(kindOfSeries(this.#state, seriesId));
    for (const open of opens) open.readInto(this.#scratch, fromS, toS);
    this.#scratch.normalize();
    visitSamples(this.#scratch, fromS, toS, visitor);
  }

  #readBlock(seriesId: number, day: number, into: Samples): boolean {
    const bytes = this.#state.store.block(seriesId, 1, day);
    return bytes !== undefined && this.#decode(seriesId, bytes, into, 'block');
  }

  /** Parts of a day, or those that overlap `within`: a reader of changes needs one of many. */
  #readParts(seriesId: number, day: number, into: Samples, within?: Stretch): void {
    for (const { id, firstS, lastS } of this.#state.parts.ofDay(seriesId, day)) {
      if (id >= this.#recent.endPartId) continue;
      if (within && (firstS >= within.toS || lastS < within.fromS)) continue;
      // Absent when a compaction was interrupted: its samples are in the day block.
      const bytes = this.#state.store.part(id);
      if (bytes) this.#decode(seriesId, bytes, into, 'part');
    }
  }

  /** False for a block that cannot be read; `into` is then unchanged. */
  #decode(seriesId: number, bytes: Buffer, into: Samples, what: string): boolean {
    const { count, isOrdered } = into;
    try {
      decodeBlock(seriesId, bytes, into);
      return true;
    } catch (error) {
      into.count = count;
      into.isOrdered = isOrdered;
      reportDamage(this.#state, what, seriesId, error);
      return false;
    }
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

/** The day that was read last, with its 15-minute cells. */
interface QuartersOfDay {
  seriesId: number;
  day: number;
  cells: Rollup | undefined;
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
