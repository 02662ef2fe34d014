/** Reads samples from wherever they are: day blocks, parts, what is being sealed, what is open. */
import { decodeBlock } from './block.ts';
import type { Resolution } from './block-store.ts';
import type { LiveSource, PlacedValue, Visitor } from './column-cursor.ts';
import { dayOf, type EngineState, kindOfSeries, reportDamage } from './engine-state.ts';
import type { OpenSeries } from './open-data.ts';
import type { PartRef } from './part-directory.ts';
import { cellAt, decodeRollup, type Rollup } from './rollup.ts';
import { Samples } from './samples.ts';

const DAY_S = 86_400;
const RESOLUTIONS: readonly Resolution[] = [1, 60, 900];

export interface BlockSource extends LiveSource {
  /** All stored samples of one day in order of time, without those in the journal, into `into`. */
  readStored(seriesId: number, day: number, into: Samples): void;
  rollup(seriesId: number, resolution: Resolution, day: number): Rollup | undefined;
  /** True when parts or the journal may hold samples of this stretch. */
  hasRecent(seriesId: number, fromS: number, toS: number): boolean;
}

/** What of a series is not in day blocks. */
interface RecentData {
  /** In the journal only, in order of arrival. */
  open(seriesId: number): readonly OpenSeries[];
  /** Parts with this id and later ones are left out: what they hold is in `open`, or came too late. */
  readonly endPartId: number;
}

export function createBlockSource(state: EngineState): BlockSource {
  const scratch = new Samples('number', 4_096);
  const live: RecentData = {
    open: (seriesId) => [state.sealing, state.open.series].flatMap((open) => open?.get(seriesId) ?? []),
    endPartId: Number.POSITIVE_INFINITY,
  };
  return {
    ...createSource(state, live, scratch),
    asOfNow: (seriesIds) => createSource(state, freeze(state, live, seriesIds), scratch),
  };
}

function freeze(state: EngineState, live: RecentData, seriesIds: readonly number[]): RecentData {
  const frozen = new Map(
    seriesIds.map((seriesId) => [seriesId, live.open(seriesId).map((open) => open.frozen())]),
  );
  return {
    // A device that is deleted meanwhile is gone from all columns.
    open: (seriesId) => (state.definitions.has(seriesId) ? (frozen.get(seriesId) ?? []) : []),
    endPartId: state.store.number('next_part_id'),
  };
}

/** @param scratch only used within one call */
function createSource(
  state: EngineState,
  recent: RecentData,
  scratch: Samples,
): Omit<BlockSource, 'asOfNow'> {
  const { store } = state;

  function readBlock(seriesId: number, day: number, into: Samples): boolean {
    const bytes = store.block(seriesId, 1, day);
    if (!bytes) return false;
    return decodeInto(seriesId, bytes, into, 'block');
  }

  /** False for a block that cannot be read; it leaves `into` as it was. */
  function decodeInto(seriesId: number, bytes: Buffer, into: Samples, what: string): boolean {
    const { count, isOrdered } = into;
    try {
      decodeBlock(seriesId, bytes, into);
      return true;
    } catch (error) {
      into.count = count;
      into.isOrdered = isOrdered;
      reportDamage(state, what, seriesId, error);
      return false;
    }
  }

  function readParts(seriesId: number, day: number, into: Samples): void {
    for (const { id } of state.parts.ofDay(seriesId, day)) {
      if (id >= recent.endPartId) continue;
      // Its samples are in the day block already when a compaction was cut short before the directory was.
      const bytes = store.part(id);
      if (bytes) decodeInto(seriesId, bytes, into, 'part');
    }
  }

  function readOpen(seriesId: number, fromS: number, toS: number, into: Samples): void {
    for (const open of recent.open(seriesId)) open.readInto(into, fromS, toS);
  }

  function readStored(seriesId: number, day: number, into: Samples): void {
    readBlock(seriesId, day, into);
    readParts(seriesId, day, into);
    into.normalize();
  }

  function rollup(seriesId: number, resolution: Resolution, day: number): Rollup | undefined {
    const bytes = store.block(seriesId, resolution, day);
    if (!bytes) return undefined;
    try {
      return decodeRollup(seriesId, bytes);
    } catch (error) {
      reportDamage(state, 'rollup', seriesId, error);
      return undefined;
    }
  }

  function partsWithin(seriesId: number, fromS: number, toS: number): PartRef[] {
    return state.parts.within(seriesId, fromS, toS).filter(({ id }) => id < recent.endPartId);
  }

  function hasRecent(seriesId: number, fromS: number, toS: number): boolean {
    return (
      partsWithin(seriesId, fromS, toS).length > 0 ||
      recent.open(seriesId).some((open) => open.nextFrom(fromS) < toS)
    );
  }

  function visitDay(
    seriesId: number,
    day: number,
    fromS: number,
    toS: number,
    granularityS: number,
    visitor: Visitor,
  ): void {
    const isRecent = hasRecent(seriesId, day * DAY_S, (day + 1) * DAY_S);
    if (!isRecent && granularityS % 900 === 0 && fromS % 900 === 0 && toS % 900 === 0) {
      const cells = rollup(seriesId, 900, day);
      if (cells) {
        visitCells(cells, fromS, toS, 900, visitor);
        return;
      }
    }
    scratch.reset(kindOfSeries(state, seriesId));
    // Of a day whose samples expired, or cannot be read, roll-ups are left.
    const hasSamplesOfDay = readBlock(seriesId, day, scratch);
    if (isRecent) {
      readParts(seriesId, day, scratch);
      readOpen(seriesId, day * DAY_S, (day + 1) * DAY_S, scratch);
      scratch.normalize();
    }
    for (const slotS of hasSamplesOfDay ? [] : ([60, 900] as const)) {
      const cells = rollup(seriesId, slotS, day);
      if (!cells) continue;
      visitBoth(cells, scratch, { fromS, toS, slotS }, visitor);
      return;
    }
    visitSamples(scratch, fromS, toS, visitor);
  }

  const source: Omit<BlockSource, 'asOfNow'> = {
    readStored,
    rollup,
    hasRecent,
    visit: (seriesId, fromS, toS, granularityS, visitor) => {
      for (let day = dayOf(fromS); day * DAY_S < toS; day++)
        visitDay(
          seriesId,
          day,
          Math.max(fromS, day * DAY_S),
          Math.min(toS, (day + 1) * DAY_S),
          granularityS,
          visitor,
        );
    },
    nextData: (seriesId, fromS, toS) => {
      let next = toS;
      for (const resolution of RESOLUTIONS) {
        const day = store.firstDay(seriesId, resolution, dayOf(fromS));
        if (day !== undefined) next = Math.min(next, day * DAY_S);
      }
      for (const { firstS } of partsWithin(seriesId, fromS, next)) next = Math.min(next, firstS);
      for (const open of recent.open(seriesId)) next = Math.min(next, open.nextFrom(fromS));
      return Math.max(fromS, next);
    },
    last: (seriesId, fromS, toS) => {
      for (let day = dayOf(toS - 1); day >= dayOf(fromS); day--) {
        const found = placed(
          seriesId,
          Math.max(fromS, day * DAY_S),
          Math.min(toS, (day + 1) * DAY_S),
          'last',
        );
        if (found) return found;
        const earlier = lastDayBefore(seriesId, day);
        if (earlier === undefined) return undefined;
        day = Math.min(day, earlier + 1);
      }
      return undefined;
    },
    first: (seriesId, fromS, toS) => {
      for (let nextS = source.nextData(seriesId, fromS, toS); nextS < toS;) {
        const endS = Math.min(toS, (dayOf(nextS) + 1) * DAY_S);
        const found = placed(seriesId, nextS, endS, 'first');
        if (found) return found;
        nextS = source.nextData(seriesId, endS, toS);
      }
      return undefined;
    },
  };

  /** Last day before `day` with anything in it. */
  function lastDayBefore(seriesId: number, day: number): number | undefined {
    const days: number[] = [];
    for (const resolution of RESOLUTIONS) {
      const found = store.lastDay(seriesId, resolution, day - 1);
      if (found !== undefined) days.push(found);
    }
    for (const part of partsWithin(seriesId, 0, day * DAY_S)) days.push(part.day);
    for (const open of recent.open(seriesId)) {
      const lastS = open.lastBefore(day * DAY_S);
      if (lastS !== undefined) days.push(dayOf(lastS));
    }
    return days.length > 0 ? Math.max(...days) : undefined;
  }

  /** First or last value of a stretch within one day. */
  function placed(
    seriesId: number,
    fromS: number,
    toS: number,
    which: 'first' | 'last',
  ): PlacedValue | undefined {
    let found: PlacedValue | undefined;
    const take = (timestampS: number, value: PlacedValue['value']): void => {
      if (!found || which === 'last') found = { timestampS, value };
    };
    visitDay(seriesId, dayOf(fromS), fromS, toS, 1, {
      samples: (samples, from, to) => {
        const index = which === 'first' ? from : to - 1;
        take(samples.times[index] as number, samples.valueAt(index));
      },
      summary: (timestampS, summary) => take(timestampS, summary.last),
    });
    return found;
  }

  return source;
}

function visitSamples(samples: Samples, fromS: number, toS: number, visitor: Visitor): void {
  const from = samples.indexFrom(fromS);
  const to = samples.indexFrom(toS);
  if (to > from) visitor.samples(samples, from, to);
}

function visitCells(cells: Rollup, fromS: number, toS: number, slotS: number, visitor: Visitor): void {
  for (let cell = 0; cell < cells.count; cell++) {
    const start = cells.starts[cell] as number;
    if (start >= fromS && start < toS) visitor.summary(start, cellAt(cells, cell), slotS);
  }
}

/** Roll-ups of a day whose samples are gone, with samples that came late. */
function visitBoth(
  cells: Rollup,
  samples: Samples,
  { fromS, toS, slotS }: { fromS: number; toS: number; slotS: number },
  visitor: Visitor,
): void {
  let readToS = fromS;
  for (let cell = 0; cell < cells.count; cell++) {
    const start = cells.starts[cell] as number;
    if (start < fromS || start >= toS) continue;
    visitSamples(samples, readToS, start, visitor);
    readToS = start;
    visitor.summary(start, cellAt(cells, cell), slotS);
  }
  visitSamples(samples, readToS, toS, visitor);
}
