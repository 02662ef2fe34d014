/**
 * Retention: samples live for a while, one-minute cells longer, quarter-hour cells longest; and whatever the
 * ages, the file stays below its limit. Deleting is freeing pages for the next blocks, never a rewrite.
 */
import type { BlockSource } from './block-source.ts';
import type { Resolution } from './block-store.ts';
import { removeParts } from './compaction.ts';
import { type EngineState, kindOfSeries } from './state.ts';
import { encodeRollup, mergeRollups, rollUp } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';

/** How long what is kept. */
export interface RetentionPolicy {
  /** Days that samples, one-minute cells and quarter-hour cells are kept. */
  sampleDays: number;
  minuteDays: number;
  quarterDays: number;
  /** Days of samples of single attributes, by attribute name. */
  sampleDaysOf: Readonly<Record<string, number>>;
  /** Limit of everything that history takes on the disk. */
  sizeMaxBytes: number;
}

/** The policy of the options of the same names; `telemetrySampleDaysOf` is a list as `a=30,b=60`. */
export function retentionPolicy(options: {
  telemetrySampleDays: number;
  telemetrySampleDaysOf?: string | undefined;
  telemetryMinuteDays: number;
  telemetryQuarterDays: number;
  historyMaxMib: number;
}): RetentionPolicy {
  const pairs = (options.telemetrySampleDaysOf ?? '').split(',').filter((pair) => pair !== '');
  return {
    sampleDays: options.telemetrySampleDays,
    minuteDays: options.telemetryMinuteDays,
    quarterDays: options.telemetryQuarterDays,
    sampleDaysOf: Object.fromEntries(
      pairs.map((pair) => [
        pair.slice(0, pair.indexOf('=')).trim(),
        Number(pair.slice(pair.indexOf('=') + 1)),
      ]),
    ),
    sizeMaxBytes: options.historyMaxMib * 1_048_576,
  };
}

const DAY_S = 86_400;
/** G: share of the limit above which the oldest is removed, whatever its age. */
const FULL_SHARE = 0.9;
/** G: series gone through between two pauses when there is nothing to do. */
const SERIES_PER_TURN = 64;

/** Removes what is older than the policy says; resolves with the number of blocks removed. */
export async function expire(
  state: EngineState,
  source: BlockSource,
  policy: RetentionPolicy,
  today: number,
): Promise<number> {
  const { store } = state;
  let removed = 0;
  let looked = 0;
  for (const series of state.definitions.values()) {
    const sampleDays = policy.sampleDaysOf[series.attribute] ?? policy.sampleDays;
    const limits: [Resolution, number][] = [
      [1, today - sampleDays],
      [60, today - Math.max(policy.minuteDays, sampleDays)],
      [900, today - Math.max(policy.quarterDays, policy.minuteDays, sampleDays)],
    ];
    for (const [resolution, beforeDay] of limits) {
      let day = store.firstDay(series.id, resolution, 0);
      for (; day !== undefined && day < beforeDay; day = store.firstDay(series.id, resolution, day + 1)) {
        // What is on its way into the block would be missing in the cells.
        if (resolution === 1 && source.hasRecent(series.id, day * DAY_S, (day + 1) * DAY_S)) continue;
        state.working('retention');
        removeDay(state, source, series.id, resolution, day, true);
        removed++;
        await state.pause();
      }
    }
    if (++looked % SERIES_PER_TURN === 0) await state.pause();
  }
  return removed;
}

/** Samples leave one-minute cells behind, unless there is no room for them. */
function removeDay(
  state: EngineState,
  source: BlockSource,
  seriesId: number,
  resolution: Resolution,
  day: number,
  keepsCells: boolean,
): void {
  const { store } = state;
  const cells = resolution === 1 && keepsCells ? minuteCells(state, source, seriesId, day) : undefined;
  store.transaction(false, () => {
    store.removeBlock(seriesId, resolution, day);
    if (cells) store.putBlock(seriesId, 60, day, cells);
  });
}

const scratch = new Samples('number', 4_096);

function minuteCells(
  state: EngineState,
  source: BlockSource,
  seriesId: number,
  day: number,
): Buffer | undefined {
  scratch.reset(kindOfSeries(state, seriesId));
  source.readStored(seriesId, day, scratch);
  if (scratch.count === 0) return undefined;
  const cells = rollUp(scratch, 60);
  const older = source.rollup(seriesId, 60, day);
  return encodeRollup(seriesId, older ? mergeRollups(older, cells) : cells);
}

/**
 * Makes room until the pages in use are below the limit with some to spare: the device with the most bytes loses its
 * oldest day of samples, then of minutes, then of quarter hours, then what came last; so one that sends much costs
 * nobody else anything. Resolves with the number of blocks and parts removed.
 */
export async function makeRoom(
  state: EngineState,
  source: BlockSource,
  sizeMaxBytes: number,
  today: number,
): Promise<number> {
  const { store } = state;
  const isOver = (): boolean => store.size().usedBytes > sizeMaxBytes * FULL_SHARE;
  if (!isOver()) return 0;
  let removed = await removeDropped(state);
  const exhausted = new Set<string>();
  while (isOver()) {
    const largest = await state.sizes.largest(state, (id) => !exhausted.has(id), state.pause);
    if (!largest) break;
    state.working('retention');
    const { seriesIds } = largest;
    const oldest = oldestDay(state, seriesIds, today);
    const count = oldest
      ? await removeOldestDay(state, source, seriesIds, oldest, { sizeMaxBytes, isOver })
      : await removeOldestParts(state, seriesIds);
    if (count === 0) exhausted.add(largest.deviceId);
    removed += count;
    state.removedEarly += count;
  }
  return removed;
}

interface OldestDay {
  resolution: Resolution;
  day: number;
}

async function removeOldestDay(
  state: EngineState,
  source: BlockSource,
  seriesIds: readonly number[],
  { resolution, day }: OldestDay,
  { sizeMaxBytes, isOver }: { sizeMaxBytes: number; isOver: () => boolean },
): Promise<number> {
  const { store } = state;
  let removed = 0;
  for (const seriesId of seriesIds) {
    if (store.firstDay(seriesId, resolution, 0) !== day) continue;
    // Cells need room themselves: the last tenth is not spent on them.
    const keepsCells = store.size().usedBytes < sizeMaxBytes * ((1 + FULL_SHARE) / 2);
    removeDay(state, source, seriesId, resolution, day, keepsCells);
    removed++;
    await state.pause();
    if (!isOver()) break;
  }
  return removed;
}

/** G: of what is not in day blocks yet, the oldest eighth goes at once. */
const PARTS_SHARE = 8;

async function removeOldestParts(state: EngineState, seriesIds: readonly number[]): Promise<number> {
  const refs = seriesIds.flatMap((seriesId) => state.parts.ofSeries(seriesId)).sort((a, b) => a.id - b.id);
  const removed = refs.slice(0, Math.ceil(refs.length / PARTS_SHARE));
  const ids = new Set(removed.map(({ id }) => id));
  for (const seriesId of seriesIds) state.parts.remove(seriesId, ids);
  await removeParts(state, [...ids]);
  return removed.length;
}

/** Samples of yesterday and today stay as long as there is anything else. */
function oldestDay(state: EngineState, seriesIds: readonly number[], today: number): OldestDay | undefined {
  const newest: [Resolution, number][] = [
    [1, today - 2],
    [60, today],
    [900, today],
    [1, Number.MAX_SAFE_INTEGER],
    [60, Number.MAX_SAFE_INTEGER],
    [900, Number.MAX_SAFE_INTEGER],
  ];
  for (const [resolution, untilDay] of newest) {
    let oldest = Number.POSITIVE_INFINITY;
    for (const seriesId of seriesIds)
      oldest = Math.min(oldest, state.store.firstDay(seriesId, resolution, 0) ?? Number.POSITIVE_INFINITY);
    if (oldest <= untilDay) return { resolution, day: oldest };
  }
  return undefined;
}

/** Blocks and parts of series that were dropped; resolves with the number removed. */
export async function removeDropped(state: EngineState): Promise<number> {
  const { store, parts, definitions } = state;
  const dropped: number[] = [];
  for (const seriesId of parts.seriesIds()) {
    if (definitions.has(seriesId)) continue;
    const ids = parts.ofSeries(seriesId).map((ref) => ref.id);
    parts.remove(seriesId, new Set(ids));
    dropped.push(...ids);
  }
  await removeParts(state, dropped);
  let removed = dropped.length;
  for (let id = store.nextSeriesWithBlocks(-1); id !== undefined; id = store.nextSeriesWithBlocks(id)) {
    const seriesId = id;
    while (!definitions.has(seriesId)) {
      let count = 0;
      store.transaction(false, () => {
        count = store.removeSomeBlocks(seriesId, 8);
      });
      removed += count;
      await state.pause();
      if (count === 0) break;
    }
  }
  return removed;
}

/** G: free pages that the file may keep before it is shortened: a day's parts come and go. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 1_048_576;
const PAGES_PER_TURN = 32;

/** Shortens the file page by page when much of it is free, or it is above its limit; resolves with the bytes given back. */
export async function shrink(state: EngineState, fileMaxBytes: number): Promise<number> {
  const { store } = state;
  const before = store.size().fileBytes;
  for (;;) {
    const { usedBytes, fileBytes } = store.size();
    const free = fileBytes - usedBytes;
    const isSmall = free <= FREE_BYTES || free <= fileBytes * FREE_SHARE;
    if (free === 0 || (isSmall && fileBytes <= fileMaxBytes)) return before - fileBytes;
    store.shrink(PAGES_PER_TURN);
    await state.pause();
    if (store.size().fileBytes === fileBytes) return before - fileBytes;
  }
}
