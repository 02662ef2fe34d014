/**
 * Sealing: samples of the journal become compressed parts. The parts are written in short transactions that do not wait
 * for the disk; the last one does, makes them visible and frees the journal. If it is interrupted, the journal still
 * holds everything.
 */
import { DAY_S } from '../../lib/time.ts';
import { Buffer } from 'node:buffer';
import { encodePart } from '../codec/block.ts';
import type { ChangedStretch } from '../codec/change-directory.ts';
import { dayOf, type EngineState, type Sealing } from './state.ts';
import { encodeLatest } from '../codec/latest-blob.ts';
import { encodeDirectory, type PartRef } from './part-directory.ts';
import type { Chunk } from './head.ts';
import { Samples } from '../codec/samples.ts';

/** M: about 5 ms of work between two pauses, 20 ms on a small board. */
const SAMPLES_PER_TURN = 131_072;

/** Called in the transaction that ends a sealing. */
type OnSealed = (stretches: readonly ChangedStretch[]) => void;

/** May be repeated after a failure. @throws when the disk refuses */
export async function sealSamples(state: EngineState, sealing: Sealing, onSealed: OnSealed): Promise<void> {
  state.working('sealing');
  const refs: (PartRef & ChangedStretch)[] = [];
  const column = new Samples('number', 4_096);
  const { store } = state;
  let nextId = store.number('next_part_id');
  // Parts of an attempt that failed.
  store.removePartsFrom(nextId);
  let pending: { id: number; data: Buffer }[] = [];
  let pendingSamples = 0;
  const flush = async (): Promise<void> => {
    const written = pending;
    pending = [];
    pendingSamples = 0;
    store.transaction(false, () => {
      for (const { id, data } of written) store.addPart(id, data);
    });
    await state.pause();
  };
  for (const [seriesId, series] of [...sealing.series].sort(([a], [b]) => a - b)) {
    column.reset(series.kind);
    series.readInto(column, 0, Number.POSITIVE_INFINITY);
    column.normalize();
    const chunks: Chunk[] = [];
    for (let from = 0; from < column.count;) {
      const day = dayOf(column.times[from] as number);
      const to = column.indexFrom((day + 1) * DAY_S);
      const id = nextId++;
      const bytes = encodePart(seriesId, column, from, to);
      const range = { firstS: column.times[from] as number, lastS: column.times[to - 1] as number };
      // Thousands of small buffers of their own would cost more memory than their content.
      chunks.push({ bytes: Buffer.from(bytes), ...range });
      pending.push({ id, data: bytes });
      refs.push({ id, seriesId, day, ...range, count: to - from });
      pendingSamples += to - from;
      from = to;
      if (pendingSamples >= SAMPLES_PER_TURN) await flush();
    }
    // Queries and another try read the chunks until the sealing ends; new samples get the freed memory.
    series.replaceBy(chunks);
  }
  await flush();
  finish(state, sealing, { refs, nextId, onSealed });
}

function finish(
  state: EngineState,
  sealing: Sealing,
  parts: { refs: readonly (PartRef & ChangedStretch)[]; nextId: number; onSealed: OnSealed },
): void {
  const { store } = state;
  const { refs, nextId } = parts;
  for (const [seriesId, series] of sealing.series) {
    const latest = state.definitions.has(seriesId) && series.latestAfter(state.latest.get(seriesId));
    if (latest) state.latest.set(seriesId, latest);
  }
  const directory = encodeDirectory(refs);
  store.transaction(true, () => {
    const stored = new Set(store.seriesIds());
    for (const series of state.definitions.values()) if (!stored.has(series.id)) store.addSeries(series);
    for (const id of stored) if (!state.definitions.has(id)) store.removeSeries(id);
    if (refs.length > 0) store.addGeneration(nextId - 1, directory);
    store.setNumber('next_part_id', nextId);
    store.setNumber('next_series_id', sealing.nextSeriesId);
    store.setNumber('journal_sequence', sealing.sequence);
    store.setNumber('journal_from', sealing.fromSequence);
    store.setLatest(encodeLatest(state.latest));
    parts.onSealed(refs);
  });
  // A series dropped meanwhile leaves parts behind, which maintenance removes.
  if (refs.length > 0) state.parts.add(directory);
}
