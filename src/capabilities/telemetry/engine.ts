/**
 * The store of telemetry: journal records become open samples, parts, day blocks and roll-ups, and all of
 * it can be read at any time. Synchronous at heart and without a thread of its own; whoever runs it calls
 * `keepHouse` regularly.
 *
 *   record ─▶ open ─seal─▶ parts ─compact─▶ day block + 15 min ─expire─▶ 1 min + 15 min ─▶ 15 min ─▶ gone
 */
import type { Clock } from '../../platform/clock/index.ts';
import type { JournalDamage, JournalRecord } from '../../platform/journal/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { isDamage, isFull } from '../../platform/sqlite/index.ts';
import type { Limits } from '../../lib/limits.ts';
import { type BatchSink, createBatchReader } from './batch.ts';
import { createBlockSource, type BlockSource } from './block-source.ts';
import type { BlockStore } from './block-store.ts';
import { compactDays } from './compaction.ts';
import { dayOf, type EngineState, reportDamage } from './engine-state.ts';
import { decodeLatest } from './latest-blob.ts';
import type { PlacedValue } from './column-cursor.ts';
import { DeviceSizes } from './device-sizes.ts';
import { createLostStretch } from './lost-stretch.ts';
import type { Series } from './model.ts';
import { createOpenData, type OpenData } from './open-data.ts';
import { decodeDirectory, PartDirectory } from './part-directory.ts';
import { expire, makeRoom, removeDropped, type RetentionPolicy, shrink } from './retention.ts';
import { sealSamples } from './sealing.ts';
import { createDueTimes, createHouseworkLog } from './housework.ts';
import { type EngineRoom, StoreRoom, wholeRoom } from './store-room.ts';

export interface EngineOptions {
  store: BlockStore;
  /** Records of the journal above a sequence, oldest first. */
  readJournal: (afterSequence: number, onDamage: (damage: JournalDamage) => void) => Iterable<JournalRecord>;
  /** Series as they were told last, for a store that lost its own list. */
  seriesCopy?: readonly Series[];
  /** Journal records before `fromSequence` are needed no more; series below `nextSeriesId` are stored. */
  onSealed: (fromSequence: number, nextSeriesId: number) => void;
  policy: RetentionPolicy;
  /** Absent: as much as the policy says for everything. */
  room?: EngineRoom;
  /** Lower bound of the true time, which ages are counted to; undefined while nothing is known. */
  provenMs: () => number | undefined;
  clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  log: Log;
  limits: Limits['telemetry'];
  pause: () => Promise<void>;
}

export interface EngineStatus {
  usedBytes: number;
  fileBytes: number;
  sizeMaxBytes: number;
  /** How long samples, one-minute and quarter-hour cells are kept. */
  retention: Omit<RetentionPolicy, 'sizeMaxBytes'>;
  /** Days until the oldest is removed to make room, at the rate of the days so far; undefined: unknown. */
  forecastDays: number | undefined;
  seriesCount: number;
  /** Samples that are in the journal only. */
  openSamples: number;
  /** Blocks and records that could not be read since the start. */
  damaged: number;
  /** Blocks and parts removed since the start before they were old enough, to make room. */
  removedEarly: number;
  /** Why the store takes no data now; undefined when all is well. */
  degraded: string | undefined;
}

export interface EngineContent {
  series: { series: Series; latest: PlacedValue | undefined }[];
  nextSeriesId: number;
  lastSequence: number;
  /** First record of the journal that the store still needed when it was opened. */
  neededFrom: number;
}

export interface Engine {
  readonly source: BlockSource;
  /** Takes in what the disk holds. */
  load(): EngineContent;
  apply(sequence: number, record: Uint8Array): void;
  /** True when `keepHouse` should not wait for its time. */
  readonly isSealDue: boolean;
  /** True when it should get no further records for now. */
  readonly isOverloaded: boolean;
  /** The file may be larger or smaller from now on; `keepHouse` removes what is too much. */
  setRoom(room: EngineRoom): void;
  /** Whatever is due: sealing, compaction, retention, room. A full disk is reported. @throws when the file is damaged */
  keepHouse(): Promise<void>;
  /** Seals everything that is open. @throws when the disk refuses */
  seal(): Promise<void>;
  status(): EngineStatus;
  /** True once after housework or damage: the status says something else now. */
  takeNews(): boolean;
}

const HOUR_MS = 3_600_000;
/** G: devices may send a little late around midnight. */
const DAY_SETTLE_MS = 600_000;
/** G: a tenth of the file is freed each time. */
const FULL_TRIES = 3;

export function createEngine(options: EngineOptions): Engine {
  const { clock, limits, policy, log } = options;
  const sizes = new DeviceSizes(options.store);
  const store = sizes.watched();
  const reader = createBatchReader();
  const housework = createHouseworkLog(log);
  const state: EngineState = {
    store,
    sizes,
    log,
    working: housework.begins,
    definitions: new Map(),
    parts: new PartDirectory(),
    latest: new Map(),
    open: newOpenData(),
    sealing: undefined,
    damaged: 0,
    removedEarly: 0,
    pause: options.pause,
  };
  const source = createBlockSource(state);
  const due = createDueTimes(clock, limits);
  const { sizeMaxBytes: _limit, ...retention } = policy;
  const room = new StoreRoom(store, options.room ?? wholeRoom(policy));
  let lastSequence = 0;
  const lost = createLostStretch(state);
  /** Key record of the epoch that the last record belongs to. */
  let keySequence = 1;
  let nextSeriesId = 1;
  let sealingUpTo = { sequence: 0, fromSequence: 1, nextSeriesId: 1 };
  let degraded: string | undefined;
  const compactedAtMs = new Map<number, number>();
  let damagedTold = 0;

  function newOpenData(): OpenData {
    return createOpenData({
      chunkSamples: limits.openChunkSamples,
      lookUp: (seriesId) => state.definitions.get(seriesId),
      onDefine: (series) => {
        state.definitions.set(series.id, series);
        nextSeriesId = Math.max(nextSeriesId, series.id + 1);
      },
      onDrop: (seriesId) => {
        state.definitions.delete(seriesId);
        state.latest.delete(seriesId);
      },
    });
  }

  function load(): EngineContent {
    room.limitFile();
    const sealed = store.number('journal_sequence');
    // Without its number, after damage, every part is one that ended.
    if (store.number('next_part_id') === 0)
      store.transaction(false, () => store.setNumber('next_part_id', store.lastPartId() + 1));
    store.transaction(false, () => void store.removePartsFrom(store.number('next_part_id')));
    for (const series of [...(options.seriesCopy ?? []), ...store.allSeries()])
      state.definitions.set(series.id, series);
    nextSeriesId = Math.max(
      1,
      store.number('next_series_id'),
      store.lastSeriesWithBlocks() + 1,
      ...[...state.definitions.keys()].map((id) => id + 1),
    );
    loadDirectories();
    loadLatest();
    const neededFrom = Math.max(1, store.number('journal_from'));
    keySequence = neededFrom;
    let previous: number | undefined;
    const onDamage = (damage: JournalDamage): void => {
      const { sequence = sealed + 1, recordCount = 1 } = damage;
      if (sequence + recordCount > sealed + 1) lost.begins(damage);
    };
    for (const { sequence, payload } of options.readJournal(neededFrom - 1, onDamage)) {
      if (previous !== undefined && sequence !== previous + 1) reader.interrupt();
      previous = sequence;
      if (sequence > sealed) room.added(payload);
      read(sequence, payload, sequence > sealed ? state.open : NOTHING);
    }
    lost.ends(undefined);
    lastSequence = Math.max(sealed, previous ?? 0);
    const latest = new Map(state.latest);
    for (const [seriesId, open] of state.open.series) {
      const newest = open.latestAfter(latest.get(seriesId));
      if (newest) latest.set(seriesId, newest);
    }
    return {
      series: [...state.definitions.values()].map((series) => ({ series, latest: latest.get(series.id) })),
      nextSeriesId,
      lastSequence,
      neededFrom,
    };
  }

  function loadDirectories(): void {
    for (const { id, directory } of store.generations())
      try {
        for (const ref of decodeDirectory(directory)) state.parts.add(ref);
      } catch (error) {
        reportDamage(state, 'directory', id, error);
      }
  }

  function loadLatest(): void {
    const bytes = store.latest();
    if (!bytes) return;
    try {
      for (const [seriesId, value] of decodeLatest(bytes))
        if (state.definitions.has(seriesId)) state.latest.set(seriesId, value);
    } catch (error) {
      reportDamage(state, 'latest', 0, error);
    }
  }

  function read(sequence: number, record: Uint8Array, sink: BatchSink): void {
    try {
      const { isKey, isUnderstood, lastS } = reader.read(record, sink);
      if (isKey) keySequence = sequence;
      if (isUnderstood) lost.ends(lastS);
      else if (sink === state.open) lost.adds();
    } catch (error) {
      reader.interrupt();
      reportDamage(state, 'record', 0, error);
    }
  }

  async function seal(): Promise<void> {
    if (!state.sealing) {
      state.sealing = state.open.series;
      sealingUpTo = { sequence: lastSequence, fromSequence: keySequence, nextSeriesId };
      state.open = newOpenData();
      room.sealed();
      due.sealed();
    }
    await sealSamples(state, state.sealing, sealingUpTo);
    state.sealing = undefined;
    housework.ends();
    options.onSealed(sealingUpTo.fromSequence, sealingUpTo.nextSeriesId);
  }

  async function keepHouse(): Promise<void> {
    let failure = await keepHouseOnce().then(() => undefined, asError);
    // A full file needs room before anything else; freeing pages needs none.
    for (let tries = 0; tries < FULL_TRIES && isFull(failure); tries++) {
      const freed = await makeRoom(state, source, room.usedShareBytes(), today());
      if (freed === 0) break;
      failure = await keepHouseOnce().then(() => undefined, asError);
    }
    housework.ends();
    if (isDamage(failure)) throw failure;
    if (failure)
      log.warnLimited('telemetry-store', 60_000, 'telemetry store cannot write, will be tried again', {
        error: failure,
      });
    else if (degraded !== undefined) log.info('telemetry store works again');
    degraded = failure?.message;
  }

  async function keepHouseOnce(): Promise<void> {
    room.limitFile();
    if (state.sealing || due.seal(state.open.sampleCount) || room.isJournalLarge) await seal();
    const nowMs = clock.wallMs();
    const closed = dayOf((nowMs - DAY_SETTLE_MS) / 1_000);
    await compactDays(state, source, closed, (day) => {
      if (nowMs - (compactedAtMs.get(day) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return false;
      if (compactedAtMs.size > 1_000) compactedAtMs.clear();
      compactedAtMs.set(day, nowMs);
      return true;
    });
    if (due.expiry()) {
      await removeDropped(state);
      const provenMs = options.provenMs();
      if (provenMs !== undefined) await expire(state, source, policy, dayOf(provenMs / 1_000));
    }
    await makeRoom(state, source, room.fileMaxBytes, today());
    await shrink(state, room.fileMaxBytes);
  }

  /** A clock that is behind keeps nothing from being the oldest. */
  const today = (): number => dayOf(Math.max(clock.wallMs(), options.provenMs() ?? 0) / 1_000);

  function forecastDays(usedBytes: number): number | undefined {
    let first = Number.POSITIVE_INFINITY;
    for (const seriesId of state.definitions.keys())
      first = Math.min(first, store.firstDay(seriesId, 1, 0) ?? Number.POSITIVE_INFINITY);
    const days = today() - first;
    if (!(days > 0)) return undefined;
    return Math.max(0, Math.floor((room.fileMaxBytes - usedBytes) / (usedBytes / days)));
  }

  return {
    source,
    load,
    apply: (sequence, record) => {
      if (sequence !== lastSequence + 1) reader.interrupt();
      lastSequence = Math.max(lastSequence, sequence);
      room.added(record);
      read(sequence, record, state.open);
    },
    get isSealDue() {
      return (
        state.sealing === undefined && (state.open.sampleCount >= limits.openSamples || room.isJournalLarge)
      );
    },
    get isOverloaded() {
      return state.open.sampleCount > limits.openSamplesMax || room.isOverloaded;
    },
    setRoom: (given) => room.set(given),
    keepHouse,
    seal,
    status: () => {
      const { usedBytes, fileBytes } = store.size();
      return {
        usedBytes,
        fileBytes,
        sizeMaxBytes: policy.sizeMaxBytes,
        retention,
        forecastDays: forecastDays(usedBytes),
        seriesCount: state.definitions.size,
        openSamples: state.open.sampleCount,
        damaged: state.damaged,
        removedEarly: state.removedEarly,
        degraded,
      };
    },
    takeNews: () => {
      const hasNews = housework.takeDone() || state.damaged !== damagedTold;
      damagedTold = state.damaged;
      return hasNews;
    },
  };
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

/** Takes records that are sealed already: the reader only needs to have seen them. */
const NOTHING: BatchSink = {
  define: () => undefined,
  drop: () => undefined,
  supersede: () => undefined,
  number: () => undefined,
  integer: () => undefined,
  boolean: () => undefined,
  text: () => undefined,
};
