/** Compaction: the parts of a past day become one block and a roll-up, together with what was there before. */
import { encodeBlock } from '../codec/block.ts';
import type { BlockSource } from './block-source.ts';
import type { Resolution } from './block-store.ts';
import { type EngineState, kindOfSeries } from './state.ts';
import { encodeRollup, mergeRollups, rollUp } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';

const scratch = new Samples('number', 4_096);
/** M: blocks of neighbouring series share pages of the index. */
const SERIES_PER_WRITE = 8;
/** M: few enough that freed pages are soon used again, many enough that few pages are shared with others. */
const SERIES_PER_REMOVAL = 100;
/** G: about 2 ms of work between two pauses. */
const PARTS_PER_TURN = 512;

/**
 * Compacts every closed day before `beforeDay`. Parts of neighbouring series share pages, so they are removed for many
 * series together, in the order of the file; the next blocks use the freed pages. Parts that a power cut leaves behind
 * are compacted again, with the same result.
 */
export async function compactDays(
  state: EngineState,
  source: BlockSource,
  beforeDay: number,
  mayCompact: (day: number) => boolean,
): Promise<void> {
  const days = [...state.parts.daysBefore(beforeDay)].sort(([a], [b]) => a - b);
  for (const [day, seriesIds] of days) {
    if (!mayCompact(day)) continue;
    state.working('roll-up');
    const replaced: number[] = [];
    const prepared: Prepared[] = [];
    for (const [index, seriesId] of [...seriesIds].entries()) {
      prepared.push(prepare(state, source, seriesId, day));
      await state.pause();
      const isLast = index === seriesIds.size - 1;
      if (prepared.length >= SERIES_PER_WRITE || isLast) replaced.push(...write(state, prepared.splice(0)));
      if ((index + 1) % SERIES_PER_REMOVAL === 0 || isLast) await removeParts(state, replaced.splice(0));
    }
  }
}

/** The replacement of the parts of one series and day. */
interface Prepared {
  seriesId: number;
  day: number;
  partIds: Set<number>;
  blocks: { resolution: Resolution; data: Buffer }[];
}

function prepare(state: EngineState, source: BlockSource, seriesId: number, day: number): Prepared {
  const partIds = new Set(state.parts.ofDay(seriesId, day).map((ref) => ref.id));
  const prepared: Prepared = { seriesId, day, partIds, blocks: [] };
  if (!state.definitions.has(seriesId)) return prepared;
  scratch.reset(kindOfSeries(state, seriesId));
  source.readStored(seriesId, day, scratch);
  if (scratch.count > 0) prepared.blocks = encodeDay(state, source, seriesId, day);
  return prepared;
}

/** Atomic for readers. Returns the ids of the parts that were replaced. */
function write(state: EngineState, prepared: readonly Prepared[]): number[] {
  const { store } = state;
  store.transaction(false, () => {
    for (const { seriesId, day, blocks } of prepared)
      for (const { resolution, data } of blocks) store.putBlock(seriesId, resolution, day, data);
  });
  for (const { seriesId, partIds } of prepared) state.parts.remove(seriesId, partIds);
  return prepared.flatMap(({ partIds }) => [...partIds]);
}

function encodeDay(
  state: EngineState,
  source: BlockSource,
  seriesId: number,
  day: number,
): Prepared['blocks'] {
  const { store } = state;
  // Samples that came after their day had expired are added to its roll-ups.
  const isExpired =
    store.block(seriesId, 1, day) === undefined &&
    (store.block(seriesId, 900, day) !== undefined || store.block(seriesId, 60, day) !== undefined);
  if (!isExpired)
    return [
      { resolution: 1, data: encodeBlock(seriesId, scratch, 0, scratch.count) },
      { resolution: 900, data: encodeRollup(seriesId, rollUp(scratch, 900)) },
    ];
  const blocks: Prepared['blocks'] = [];
  for (const resolution of [60, 900] as const) {
    const older = source.rollup(seriesId, resolution, day);
    if (!older) continue;
    const merged = mergeRollups(older, rollUp(scratch, resolution));
    blocks.push({ resolution, data: encodeRollup(seriesId, merged) });
  }
  return blocks;
}

/** Removes parts that memory no longer refers to, and directories that this leaves empty. */
export async function removeParts(state: EngineState, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  const { store } = state;
  ids.sort((a, b) => a - b);
  for (let from = 0; from < ids.length; from += PARTS_PER_TURN) {
    store.transaction(false, () => {
      for (const [first, last] of runsOf(ids.slice(from, from + PARTS_PER_TURN)))
        store.removeParts(first, last);
    });
    await state.pause();
  }
  const least = Math.min(state.parts.leastId(), store.number('next_part_id'));
  store.transaction(true, () => store.removeGenerationsBefore(least));
}

/** First and last id of each run without a gap: a sealing numbers the parts of neighbouring series one after the other. */
function runsOf(ids: readonly number[]): [first: number, last: number][] {
  const runs: [number, number][] = [];
  for (const id of ids) {
    const run = runs.at(-1);
    if (run && id === run[1] + 1) run[1] = id;
    else runs.push([id, id]);
  }
  return runs;
}
