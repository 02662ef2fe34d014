/**
 * The store of telemetry: journal records become samples of the head, parts, day blocks and roll-ups, which can all be
 * read at any time. It has no thread of its own: whoever runs it calls `maintain` regularly.
 *
 *   record ─▶ head ─seal─▶ parts ─compact─▶ day block + 15 min ─expire─▶ 1 min + 15 min ─▶ 15 min ─▶ gone
 */
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs, EpochS } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { JournalDamage, JournalRecord } from '../journal/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { inWords, isFull } from '../../lib/system-fault.ts';
import { isDamage } from '../../platform/sqlite/index.ts';
import { BatchReader, type BatchSink, isKeyRecord } from '../codec/batch.ts';
import { decodeLatest } from '../codec/latest-blob.ts';
import type { Series, StoredSample } from '../codec/series.ts';
import { BlockSource } from './block-source.ts';
import { type BlockStore, watchBlocks } from './block-store.ts';
import { ChangeLog } from './changes.ts';
import { compactDays } from './compaction.ts';
import { DeviceSizes } from './device-sizes.ts';
import { Head } from './head.ts';
import { LostRecords } from './lost-records.ts';
import { DueTimes, MaintenanceLog } from './maintenance.ts';
import { NO_SINK } from './recent-records.ts';
import { expire, makeRoom, removeDropped, type RetentionPolicy, shrink } from './retention.ts';
import { sealSamples } from './sealing.ts';
import { createEngineState, dayOf, type EngineState, reportDamage, type Sealing } from './state.ts';
import { type EngineRoom, StoreRoom, wholeRoom } from './store-room.ts';

interface EngineOptions {
  store: BlockStore;
  /** Records of the journal above a sequence, oldest first. */
  readJournal: (afterSequence: number, onDamage: (damage: JournalDamage) => void) => Iterable<JournalRecord>;
  /** The copy of the list of series, for a store that lost its own. */
  seriesCopy?: readonly Series[];
  /** Journal records before `fromSequence` are needed no more; series below `nextSeriesId` are stored. */
  onSealed: (fromSequence: number, nextSeriesId: number) => void;
  policy: RetentionPolicy;
  /** Absent: as much as the policy says for everything. */
  room?: EngineRoom;
  /** The disk itself is almost full. */
  isDiskLow: () => boolean;
  /** Lower bound of the true time, by which samples age; undefined while unknown. */
  provenMs: () => EpochMs | undefined;
  clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  log: Log;
  limits: Limits['telemetry'];
  pause: () => Promise<void>;
}

/** Size, retention and health of the store, for health page, metrics and console. */
export interface EngineStatus {
  usedBytes: number;
  fileBytes: number;
  sizeMaxBytes: number;
  /** How long samples, one-minute and quarter-hour cells are kept. */
  retention: Omit<RetentionPolicy, 'sizeMaxBytes'>;
  /** Days until the oldest data is removed to make room, at the present rate; undefined: unknown. */
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

/** Content of the store when it was opened: the series with their latest samples, and where the journal goes on. */
export interface EngineContent {
  series: { series: Series; latest: StoredSample | undefined }[];
  nextSeriesId: number;
  lastSequence: number;
  /** First record of the journal that the store still needed when it was opened. */
  neededFrom: number;
}

const HOUR_MS = 3_600_000;
/** G: devices may send a little late around midnight. */
const DAY_SETTLE_MS = 600_000;
/** G: a tenth of the file is freed each time. */
const FULL_TRIES = 3;

export class Engine {
  readonly source: BlockSource;
  /** For targets that copy telemetry elsewhere. */
  readonly changes: ChangeLog;
  readonly #options: EngineOptions;
  readonly #store: BlockStore;
  readonly #state: EngineState;
  readonly #reader = new BatchReader();
  readonly #work: MaintenanceLog;
  readonly #due: DueTimes;
  readonly #room: StoreRoom;
  readonly #lost: LostRecords;
  readonly #compactedAtMs = new Map<number, number>();
  /** Wall clock before which no open sample came. */
  #openSinceMs: EpochMs = Number.NEGATIVE_INFINITY;
  #lastSequence = 0;
  /** Key record of the epoch that the last record belongs to. */
  #keySequence = 1;
  #nextSeriesId = 1;
  #degraded: string | undefined;
  #damagedReported = 0;
  /** First day with a block of samples, infinite without one; undefined: blocks changed since it was looked up. */
  #firstDay: number | undefined;

  constructor(options: EngineOptions) {
    const { clock, limits, policy, log, pause } = options;
    const sizes = new DeviceSizes(options.store);
    const forecast = { changed: () => void (this.#firstDay = undefined) };
    const store = watchBlocks(options.store, [sizes, forecast]);
    this.#options = options;
    this.#store = store;
    this.#work = new MaintenanceLog(log);
    const working: EngineState['working'] = (work) => this.#work.begins(work);
    this.#state = createEngineState({ store, sizes, log, working, pause }, this.#newHead());
    this.source = new BlockSource(this.#state);
    this.changes = new ChangeLog({
      state: this.#state,
      source: this.source,
      limits,
      rereadOpen: () => this.#rereadOpen(),
    });
    this.#due = new DueTimes(clock, limits);
    this.#room = new StoreRoom(store, options.room ?? wholeRoom(policy));
    this.#lost = new LostRecords(this.#state);
  }

  /** Reads what the disk holds. */
  load(): EngineContent {
    const store = this.#store;
    const { definitions } = this.#state;
    this.#room.limitFile();
    // After damage the number may be missing: then every part counts as complete.
    if (store.number('next_part_id') === 0)
      store.transaction(false, () => store.setNumber('next_part_id', store.lastPartId() + 1));
    store.transaction(false, () => store.removePartsFrom(store.number('next_part_id')));
    for (const series of [...(this.#options.seriesCopy ?? []), ...store.allSeries()])
      definitions.set(series.id, series);
    this.#nextSeriesId = Math.max(1, store.number('next_series_id'), store.lastSeriesWithBlocks() + 1);
    for (const id of definitions.keys()) this.#nextSeriesId = Math.max(this.#nextSeriesId, id + 1);
    this.#loadDirectories();
    this.#loadLatest();
    const neededFrom = Math.max(1, store.number('journal_from'));
    this.#readJournal(neededFrom);
    if (this.#state.head.sampleCount === 0) this.#openSinceMs = this.#options.clock.wallMs();
    this.changes.startAt(this.#lastSequence);
    const latest = new Map(this.#state.latest);
    for (const [seriesId, open] of this.#state.head.series) {
      const newest = open.latestAfter(latest.get(seriesId));
      if (newest) latest.set(seriesId, newest);
    }
    return {
      series: [...definitions.values()].map((series) => ({ series, latest: latest.get(series.id) })),
      nextSeriesId: this.#nextSeriesId,
      lastSequence: this.#lastSequence,
      neededFrom,
    };
  }

  apply(sequence: number, record: Uint8Array): void {
    if (sequence !== this.#lastSequence + 1) this.#reader.interrupt();
    this.#lastSequence = Math.max(this.#lastSequence, sequence);
    this.#room.added(record);
    this.#read(sequence, record, this.#state.head);
  }

  /** True when `maintain` should be called now. */
  get isSealDue(): boolean {
    const { sealing, head } = this.#state;
    return !sealing && (this.#due.seal(head.sampleCount) || this.#room.isJournalLarge);
  }

  /** True when no further records should be applied for now. */
  get isOverloaded(): boolean {
    return this.#state.head.sampleCount > this.#options.limits.openSamplesMax || this.#room.isOverloaded;
  }

  /** Changes the room on the disk; `maintain` removes what is too much. */
  setRoom(room: EngineRoom): void {
    this.#room.set(room);
  }

  /** Does what is due: sealing, compaction, retention, room. Reports a full disk. @throws when the file is damaged */
  async maintain(): Promise<void> {
    const { log } = this.#options;
    let failure = await this.#attempt(() => this.#doWhatIsDue());
    // A file at its limit needs room first; freeing pages needs none.
    for (let tries = 0; tries < FULL_TRIES && isFull(failure); tries++) {
      let freed = 0;
      const mostBytes = this.#room.whenFullBytes(this.#options.isDiskLow());
      const refusal = await this.#attempt(async () => {
        freed = await makeRoom(this.#state, this.source, mostBytes, this.#today());
      });
      if (freed === 0) break;
      failure = refusal ?? (await this.#attempt(() => this.#doWhatIsDue()));
    }
    this.#work.ends();
    if (isDamage(failure)) throw failure;
    if (failure)
      log.warnLimited('telemetry-store', 60_000, 'telemetry store cannot write, will be tried again', {
        error: failure,
      });
    else if (this.#degraded !== undefined) log.info('telemetry store works again');
    this.#degraded = failure && inWords(failure);
  }

  /** Seals everything that is open. @throws when the disk refuses */
  async seal(): Promise<void> {
    const state = this.#state;
    const sealing = (state.sealing ??= this.#beginSealing());
    await sealSamples(state, sealing, (stretches) =>
      this.changes.writeSealed(sealing.sequence, sealing.sinceS, stretches),
    );
    this.changes.sealed(sealing.fromSequence);
    state.sealing = undefined;
    state.head.trim();
    this.#work.ends();
    this.#options.onSealed(sealing.fromSequence, sealing.nextSeriesId);
  }

  status(): EngineStatus {
    const { sizeMaxBytes, ...retention } = this.#options.policy;
    const { usedBytes, fileBytes } = this.#store.size();
    const { definitions, head, damaged, removedEarly } = this.#state;
    return {
      usedBytes,
      fileBytes,
      sizeMaxBytes,
      retention,
      damaged,
      removedEarly,
      forecastDays: this.#forecastDays(usedBytes),
      seriesCount: definitions.size,
      openSamples: head.sampleCount,
      degraded: this.#degraded,
    };
  }

  /** True once after maintenance or damage: the status has changed. */
  takeStatusChange(): boolean {
    const { damaged } = this.#state;
    const hasChanged = this.#work.takeDone() || damaged !== this.#damagedReported;
    this.#damagedReported = damaged;
    return hasChanged;
  }

  #beginSealing(): Sealing {
    const { head } = this.#state;
    this.#state.head = head.successor();
    this.#openSinceMs = this.#options.clock.wallMs();
    this.#room.sealed();
    this.#due.sealed();
    return {
      series: head.series,
      sequence: this.#lastSequence,
      fromSequence: this.#keySequence,
      nextSeriesId: this.#nextSeriesId,
      sinceS: this.changes.takeOpenSince() ?? this.#nowS(),
    };
  }

  #newHead(): Head {
    return new Head({
      chunkSamples: this.#options.limits.openChunkSamples,
      lookUp: (seriesId) => this.#state.definitions.get(seriesId),
      onDefine: (series) => {
        this.#state.definitions.set(series.id, series);
        this.#nextSeriesId = Math.max(this.#nextSeriesId, series.id + 1);
      },
      onDrop: (seriesId) => {
        this.#state.definitions.delete(seriesId);
        this.#state.latest.delete(seriesId);
      },
    });
  }

  #loadDirectories(): void {
    for (const { id, directory } of this.#store.generations())
      try {
        this.#state.parts.add(directory);
      } catch (error) {
        reportDamage(this.#state, 'directory', id, error);
      }
  }

  #loadLatest(): void {
    const bytes = this.#store.latest();
    if (!bytes) return;
    try {
      for (const [seriesId, value] of decodeLatest(bytes))
        if (this.#state.definitions.has(seriesId)) this.#state.latest.set(seriesId, value);
    } catch (error) {
      reportDamage(this.#state, 'latest', 0, error);
    }
  }

  #readJournal(neededFrom: number): void {
    const sealed = this.#store.number('journal_sequence');
    this.#keySequence = neededFrom;
    let previous: number | undefined;
    let isReported = false;
    const onDamage = (damage: JournalDamage): void => {
      isReported = true;
      const { sequence = sealed + 1, recordCount = 1 } = damage;
      if (sequence + recordCount > sealed + 1) this.#lost.begins(damage);
    };
    for (const { sequence, payload } of this.#options.readJournal(neededFrom - 1, onDamage)) {
      if (previous !== undefined && sequence !== previous + 1) this.#reader.interrupt();
      previous = sequence;
      if (sequence > sealed) this.#room.added(payload);
      this.#read(sequence, payload, sequence > sealed ? this.#state.head : NO_SINK, true);
    }
    if (!isReported && previous === undefined && sealed > 0 && this.#isJournalGone())
      this.#lost.begins({ segment: 'all', sequence: sealed + 1, recordCount: undefined, bytes: 0 });
    this.#lost.ends(undefined);
    this.#lastSequence = Math.max(sealed, previous ?? 0);
  }

  /** A sealing leaves the segment with its last record, so a journal without any record was removed. A backup's may be older. */
  #isJournalGone(): boolean {
    for (const _record of this.#options.readJournal(0, () => undefined)) return false;
    return true;
  }

  #read(sequence: number, record: Uint8Array, sink: BatchSink, isOfEarlierRun = false): void {
    try {
      const { isKey, isUnderstood, lastS, samples } = this.#reader.read(record, sink);
      if (isKey) this.#keySequence = sequence;
      const nowS = this.#nowS();
      // The journal does not say when a record came; its last sample was measured shortly before.
      const atS = isOfEarlierRun && lastS > 0 ? Math.min(nowS, lastS) : nowS;
      this.changes.took({ sequence, record, isKey, samples, atS });
      if (isUnderstood) this.#lost.ends(lastS);
      else if (sink === this.#state.head) this.#lost.adds();
    } catch (error) {
      this.#reader.interrupt();
      reportDamage(this.#state, 'record', 0, error);
    }
  }

  /** Reads the records that are not sealed again, for a new reader of changes. */
  #rereadOpen(): void {
    const atS = this.#nowS();
    const first = Math.max(1, this.#store.number('journal_from'));
    for (const { sequence, payload } of this.#options.readJournal(first - 1, () => undefined)) {
      if (sequence > this.#lastSequence) continue;
      // A value takes a little more than a byte.
      const samples = payload.length;
      this.changes.took({ sequence, record: payload, isKey: isKeyRecord(payload), samples, atS });
    }
  }

  #nowS(): EpochS {
    return Math.floor(this.#options.clock.wallMs() / 1_000);
  }

  /** Resolves with the error, if there was one. */
  #attempt(work: () => Promise<void>): Promise<Error | undefined> {
    const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
    return work().then(() => undefined, asError);
  }

  async #doWhatIsDue(): Promise<void> {
    const { clock, policy, provenMs } = this.#options;
    const state = this.#state;
    this.#room.limitFile();
    if (state.sealing || this.isSealDue) await this.seal();
    const nowMs = clock.wallMs();
    // A day that still has open samples would be compacted once more when they are sealed.
    const completeMs = state.head.sampleCount > 0 ? Math.min(nowMs, this.#openSinceMs) : nowMs;
    const closed = dayOf((completeMs - DAY_SETTLE_MS) / 1_000);
    await compactDays(state, this.source, closed, (day) => {
      if (nowMs - (this.#compactedAtMs.get(day) ?? Number.NEGATIVE_INFINITY) < HOUR_MS) return false;
      if (this.#compactedAtMs.size > 1_000) this.#compactedAtMs.clear();
      this.#compactedAtMs.set(day, nowMs);
      return true;
    });
    if (this.#due.expiry()) {
      await removeDropped(state);
      const trueMs = provenMs();
      if (trueMs !== undefined) await expire(state, this.source, policy, dayOf(trueMs / 1_000));
    }
    await makeRoom(state, this.source, this.#room.fileMaxBytes, this.#today());
    await shrink(state, this.#room.fileMaxBytes);
  }

  /** By the later of the two clocks: a wall clock that is behind must not protect old data. */
  #today(): number {
    const { clock, provenMs } = this.#options;
    return dayOf(Math.max(clock.wallMs(), provenMs() ?? 0) / 1_000);
  }

  #forecastDays(usedBytes: number): number | undefined {
    if (this.#firstDay === undefined) {
      this.#firstDay = Number.POSITIVE_INFINITY;
      for (const seriesId of this.#state.definitions.keys())
        this.#firstDay = Math.min(this.#firstDay, this.#store.firstDay(seriesId, 1, 0) ?? this.#firstDay);
    }
    const days = this.#today() - this.#firstDay;
    if (!(days > 0)) return undefined;
    return Math.max(0, Math.floor((this.#room.fileMaxBytes - usedBytes) / (usedBytes / days)));
  }
}
