import { DoublingPause } from '../../lib/doubling-pause.ts';
import { unavailable } from '../../lib/errors.ts';
import { inWords } from '../../lib/system-fault.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Timer } from '../../platform/clock/index.ts';
import { Refusal } from '../journal/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { DegradableDatabase } from '../../platform/sqlite/index.ts';
import { startThread, type Thread } from '../../platform/threads/index.ts';
import type { PieceOf, StorePlan } from '../query/answer.ts';
import type { Changes, ChangesPlan } from './changes.ts';
import type { EngineContent, EngineStatus } from './engine.ts';
import type { EngineThreadData, FromEngine, ToEngine } from './messages.ts';
import { Queries } from './queries.ts';
import { type EngineRoom, wholeRoom } from './store-room.ts';

/** Often enough: ages are counted in days. */
const PROVEN_INTERVAL_MS = 60_000;

interface ThreadedHistoryOptions extends EngineThreadData, Instruments {
  /** Absolute path of the thread's module: `programEntry('telemetry-store/engine/thread')`. */
  entry: string;
  limits: Limits['telemetry'];
  /** Says when the file can be opened, and gets reports of damage; absent: it can always be opened. */
  file?: Pick<DegradableDatabase, 'join' | 'report' | 'failure'>;
}

interface HistoryEvents {
  /** Journal records before `fromSequence` are needed no more; series below `nextSeriesId` are known. */
  onSealed: (fromSequence: number, nextSeriesId: number) => void;
  /** The store was opened after the start, or again. */
  onReady: (content: EngineContent) => void;
}

/** The gateway's side of the store in its thread: restarts it when it fails, slows the intake when it lags. */
export class ThreadedHistory {
  /** The opener of the journal notes here how that ended. */
  readonly journalRefusal: Refusal;
  readonly #options: Omit<ThreadedHistoryOptions, keyof EngineThreadData>;
  readonly #data: EngineThreadData;
  readonly #restarts: { inc: () => void };
  readonly #queries: Queries;
  readonly #backlog: Backlog;
  readonly #restartPause: DoublingPause;
  #isFirstLaunch = true;
  #room: EngineRoom;
  #thread: Thread | undefined;
  #events: HistoryEvents | undefined;
  #status: EngineStatus | undefined;
  #keptChanges: { sequence: number | undefined } | undefined;
  #isReady = false;
  /** Error of the last thread, while none is ready. */
  #failure: Error | undefined;
  #isStopping = false;
  #isReleased = false;
  #restartTimer: Timer | undefined;
  #provenTimer: Timer | undefined;
  #leave: (() => void) | undefined;
  #started: PromiseWithResolvers<EngineContent | undefined> | undefined;
  #stopped: PromiseWithResolvers<void> | undefined;

  constructor(options: ThreadedHistoryOptions) {
    const { entry, clock, log, metrics, limits, file, ...data } = options;
    this.#options = { entry, clock, log, metrics, limits, ...(file && { file }) };
    this.#data = data;
    this.#room = data.room ?? wholeRoom(data.policy);
    this.#restarts = metrics.counter(
      'telemetry_store_restarts_total',
      'Restarts of the thread of the store.',
    );
    this.#queries = new Queries({ limits, metrics, post: (message) => this.#post(message) });
    this.#backlog = new Backlog(() => Math.min(limits.storeBacklogBytes, this.#room.journalMaxBytes / 4));
    const backlogBytes = (): number => this.#backlog.sizeBytes;
    metrics.measured(
      'telemetry_store_backlog_bytes',
      'Journal records on their way to the store.',
      backlogBytes,
    );
    metrics.queue('telemetry_store', { limit: limits.storeBacklogBytes, depth: backlogBytes });
    this.journalRefusal = new Refusal(clock);
    this.#restartPause = new DoublingPause({
      firstMs: limits.storeRestartFirstMs,
      maxMs: limits.storeRestartMaxMs,
    });
  }

  /** Opens the store and reads the journal. Undefined when it cannot be opened now: it retries, then calls `onReady`. */
  start(events: HistoryEvents): Promise<EngineContent | undefined> {
    const { clock, file } = this.#options;
    this.#events = events;
    const started = Promise.withResolvers<EngineContent | undefined>();
    this.#started = started;
    this.#provenTimer = clock.setRepeating(PROVEN_INTERVAL_MS, () => this.#postProven());
    if (!file) this.#launch();
    else {
      this.#leave = file.join({ release: () => this.#release(), opened: () => this.#opened() });
      if (file.failure) this.#resolveStart(undefined);
    }
    return started.promise;
  }

  /** A last record of the journal that is not whole is damaged. */
  get isTornEndDamage(): boolean {
    return this.#data.isTornEndDamage === true;
  }

  /** Why nothing can be read or written now; undefined when all is well. */
  get failure(): string | undefined {
    if (this.#isReady) return undefined;
    const failure = this.#options.file?.failure ?? this.#failure;
    return failure ? inWords(failure) : 'the store of telemetry is starting';
  }

  /** Applies a journal record that is on disk. A promise asks to wait before the next one. */
  apply(sequence: number, record: Uint8Array): Promise<void> | void {
    const wait = this.#backlog.add(sequence, record);
    if (this.#isReady) this.#post({ kind: 'record', sequence, record });
    return wait;
  }

  /** Resolves when the store has taken in every record that it was given: bulk data waits for it before it sends more. */
  async caughtUp(): Promise<void> {
    while (!this.#backlog.isEmpty && !this.#isStopping) await this.#backlog.emptied();
  }

  /**
   * The answer in pieces; ends early, with the signal's reason, when aborted.
   * @throws GatewayError unavailable, when too many queries wait or the store is down
   */
  query<Plan extends StorePlan>(plan: Plan, signal: AbortSignal): AsyncGenerator<PieceOf<Plan>> {
    if (!this.#isReady) throw unavailable('The telemetry store is starting.');
    return this.#queries.run(plan, signal);
  }

  /** The changes after a position. @throws GatewayError unavailable, when the store is down */
  async changes(plan: ChangesPlan): Promise<Changes> {
    if (!this.#isReady) throw unavailable('The telemetry store is starting.');
    return await this.#queries.changes(plan);
  }

  /** Keeps changes after this journal record, also across restarts of the thread; undefined: there is no reader. */
  keepChanges(sequence: number | undefined): void {
    this.#keptChanges = { sequence };
    if (this.#isReady) this.#post({ kind: 'keep_changes', sequence });
  }

  /** Changes the room on the disk. If the store could not be opened, it is tried again at once. */
  setRoom(room: EngineRoom): void {
    this.#room = room;
    this.#post({ kind: 'room', room });
    // The failure may have been a lack of room.
    if (this.#thread || !this.#restartTimer || this.#isReleased || this.#isStopping) return;
    this.#restartPause.reset();
    this.#restartTimer.cancel();
    this.#launch();
  }

  /** Seals everything now, for a backup. @throws when the disk refuses */
  seal(): Promise<void> {
    return this.#queries.seal();
  }

  /** As of a few seconds ago; undefined before the first report. */
  status(): EngineStatus | undefined {
    return this.#status;
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#backlog.release();
    this.#leave?.();
    this.#restartTimer?.cancel();
    this.#provenTimer?.cancel();
    if (!this.#thread) return;
    this.#stopped = Promise.withResolvers<void>();
    this.#post({ kind: 'stop' });
    await this.#stopped.promise;
    await this.#thread?.end();
  }

  #post(message: ToEngine): void {
    this.#thread?.post(message);
  }

  #launch(): void {
    const { entry, limits } = this.#options;
    this.#isReady = false;
    this.#thread = startThread({
      entry,
      data: undefined,
      heapMaxMib: limits.storeHeapMib,
      youngHeapMaxMib: limits.storeYoungHeapMib,
      onMessage: (message) => this.#receive(message as FromEngine),
      onExit: (error) => this.#exited(error),
    });
    const acceptsRefused = this.journalRefusal.isOver;
    // Later threads read a journal that is being written.
    const isTornEndDamage = this.isTornEndDamage && this.#isFirstLaunch;
    this.#isFirstLaunch = false;
    this.#post({
      kind: 'open',
      data: { ...this.#data, room: this.#room, acceptsRefused, isTornEndDamage },
    });
  }

  #exited(error: Error | undefined): void {
    const { clock, log, file } = this.#options;
    this.#thread = undefined;
    this.#isReady = false;
    this.#failure = error;
    this.journalRefusal.note(error);
    this.#stopped?.resolve();
    this.#queries.failAll();
    if (this.#isStopping || this.#isReleased) return;
    log.error('thread of the telemetry store failed, starts again', { error });
    this.#restarts.inc();
    this.#restartTimer = clock.setTimer(this.#restartPause.next(), () => this.#launch());
    file?.report(error);
    this.#resolveStart(undefined);
  }

  /** The file is about to be replaced; samples that are not in it are in the journal. */
  async #release(): Promise<void> {
    this.#isReleased = true;
    this.#restartTimer?.cancel();
    await this.#thread?.end();
  }

  #opened(): void {
    if (this.#isStopping || (this.#thread && !this.#isReleased)) return;
    this.#isReleased = false;
    this.#restartTimer?.cancel();
    this.#launch();
  }

  #postProven(): void {
    const provenMs = this.#options.clock.proven.nowMs();
    if (provenMs !== undefined) this.#post({ kind: 'proven', provenMs });
  }

  #receive(message: FromEngine): void {
    switch (message.kind) {
      case 'ready':
        this.#becomeReady(message.content);
        break;
      case 'applied':
        this.#backlog.applied(message.sequence);
        break;
      case 'piece':
      case 'done':
        this.#queries.receive(message);
        break;
      case 'sealed':
        this.#restartPause.reset();
        this.#events?.onSealed(message.fromSequence, message.nextSeriesId);
        break;
      case 'status':
        this.#status = message.status;
        break;
      case 'log':
        this.#options.log[message.level](message.message, message.fields);
        break;
      case 'stopped':
        this.#stopped?.resolve();
        break;
    }
  }

  #becomeReady(content: EngineContent): void {
    this.#isReady = true;
    this.#failure = undefined;
    this.#postProven();
    if (this.#keptChanges) this.#post({ kind: 'keep_changes', ...this.#keptChanges });
    if (this.#started) this.#resolveStart(content);
    else this.#events?.onReady(content);
    // It has read the journal: only later records are missing.
    this.#backlog.applied(content.lastSequence);
    for (const { sequence, record } of this.#backlog.records)
      this.#post({ kind: 'record', sequence, record });
  }

  #resolveStart(content: EngineContent | undefined): void {
    this.#started?.resolve(content);
    this.#started = undefined;
  }
}

/** Records that the thread has not confirmed. */
class Backlog {
  readonly #sizeMaxBytes: () => number;
  #records: { sequence: number; record: Uint8Array }[] = [];
  #sizeBytes = 0;
  #room: PromiseWithResolvers<void> | undefined;
  #empty: PromiseWithResolvers<void> | undefined;

  constructor(sizeMaxBytes: () => number) {
    this.#sizeMaxBytes = sizeMaxBytes;
  }

  get records(): readonly { sequence: number; record: Uint8Array }[] {
    return this.#records;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  /** Resolves the next time that nothing is waiting. */
  emptied(): Promise<void> {
    return (this.#empty ??= Promise.withResolvers<void>()).promise;
  }

  /** Resolves `emptied`, although records wait: the store stops. */
  release(): void {
    this.#empty?.resolve();
    this.#empty = undefined;
  }

  /** A promise asks to wait until the store has caught up. */
  add(sequence: number, record: Uint8Array): Promise<void> | undefined {
    this.#records.push({ sequence, record });
    this.#sizeBytes += record.length;
    if (this.#sizeBytes <= this.#sizeMaxBytes()) return undefined;
    this.#room ??= Promise.withResolvers<void>();
    return this.#room.promise;
  }

  applied(sequence: number): void {
    const done = this.#records.findIndex((record) => record.sequence > sequence);
    const confirmed = done < 0 ? this.#records : this.#records.slice(0, done);
    for (const { record } of confirmed) this.#sizeBytes -= record.length;
    this.#records = done < 0 ? [] : this.#records.slice(done);
    if (this.isEmpty) this.release();
    if (this.#sizeBytes > this.#sizeMaxBytes() / 2) return;
    this.#room?.resolve();
    this.#room = undefined;
  }
}
