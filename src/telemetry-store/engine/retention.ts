/**
 * Retention: one-minute cells are kept longer than samples, and quarter-hour cells longest; whatever the ages, the file
 * stays below its limit. Deleting frees pages for the next blocks and never rewrites the file.
 */
import { DAY_S } from '../../lib/time.ts';
import type { BlockSource } from './block-source.ts';
import type { Resolution } from './block-store.ts';
import { removeParts } from './compaction.ts';
import { type EngineState, kindOfSeries } from './state.ts';
import { encodeRollup, mergeRollups, rollUp } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';

/** How long data is kept, and how much of it. */
export interface RetentionPolicy {
  /** Days that samples, one-minute cells and quarter-hour cells are kept. */
  sampleDays: number;
  minuteDays: number;
  quarterDays: number;
  /** Days of samples of single attributes, by attribute name. */
  sampleDaysOf: Readonly<Record<string, number>>;
  /** Limit of all history on the disk. */
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

/** G: share of the limit above which the oldest is removed, whatever its age. */
const FULL_SHARE = 0.9;
/** G: series gone through between two pauses when there is nothing to do. */
const SERIES_PER_TURN = 64;

/** Removes what is older than the policy says. */
export async function expire(
  state: EngineState,
  source: BlockSource,
  policy: RetentionPolicy,
  today: number,
): Promise<void> {
  const { store } = state;
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
        // Samples that are not in the block yet would be missing in the cells.
        if (resolution === 1 && source.hasRecent(series.id, day * DAY_S, (day + 1) * DAY_S)) continue;
        state.working('retention');
        removeDay(state, source, series.id, resolution, day, true);
        await state.pause();
      }
    }
    if (++looked % SERIES_PER_TURN === 0) await state.pause();
  }
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
 * Makes room until the pages in use are well below the limit: the device with the most bytes loses its oldest day of
 * samples, then of minutes, then of quarter hours, then its parts. So a device that sends much costs no other one its
 * data. Resolves with the number of blocks and parts removed.
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
    // Cells need room themselves, and only little is left.
    const keepsCells = store.size().usedBytes < sizeMaxBytes * ((1 + FULL_SHARE) / 2);
    removeDay(state, source, seriesId, resolution, day, keepsCells);
    removed++;
    await state.pause();
    if (!isOver()) break;
  }
  return removed;
}

/** G: of the parts the oldest eighth is removed at once. */
const PARTS_SHARE = 8;

async function removeOldestParts(state: EngineState, seriesIds: readonly number[]): Promise<number> {
  const refs = seriesIds.flatMap((seriesId) => state.parts.ofSeries(seriesId)).sort((a, b) => a.id - b.id);
  const removed = refs.slice(0, Math.ceil(refs.length / PARTS_SHARE));
  const ids = new Set(removed.map(({ id }) => id));
  for (const seriesId of seriesIds) state.parts.remove(seriesId, ids);
  await removeParts(state, [...ids]);
  return removed.length;
}

/** Samples of yesterday and today are removed last. */
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

const BLOCKS_PER_TURN = 8;

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
    for (let count = 1; count > 0 && !definitions.has(seriesId); removed += count) {
      count = store.transaction(false, () => store.removeSomeBlocks(seriesId, BLOCKS_PER_TURN));
      await state.pause();
    }
  }
  return removed;
}

/** G: free pages that the file may keep for the parts of the next day. */
const FREE_SHARE = 0.1;
const FREE_BYTES = 1_048_576;
const PAGES_PER_TURN = 32;

/** Shortens the file page by page when much of it is free, or it is above its limit. */
export async function shrink(state: EngineState, fileMaxBytes: number): Promise<void> {
  const { store } = state;
  for (;;) {
    const { usedBytes, fileBytes } = store.size();
    const free = fileBytes - usedBytes;
    const isSmall = free <= FREE_BYTES || free <= fileBytes * FREE_SHARE;
    if (free === 0 || (isSmall && fileBytes <= fileMaxBytes)) return;
    store.shrink(PAGES_PER_TURN);
    await state.pause();
    if (store.size().fileBytes === fileBytes) return;
  }
}
