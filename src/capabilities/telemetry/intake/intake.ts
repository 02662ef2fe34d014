/**
 * The way of samples to the disk: ingest, journal, then the store, which applies synced records. While the store or the
 * journal cannot be opened, the latest values are updated and messages wait.
 */
import { unavailable } from '../../../lib/errors.ts';
import { inWords } from '../../../lib/system-fault.ts';
import type { Emitter } from '../../../lib/emitter.ts';
import type { Limits } from '../../../lib/limits.ts';
import type { DurationMs } from '../../../lib/time.ts';
import type { Timer } from '../../../platform/clock/index.ts';
import {
  BatchWriter,
  type EngineContent,
  type EngineRoom,
  fromStored,
  Journal,
  type JournalFiles,
  type ThreadedHistory,
  writeSeriesCopy,
} from '#telemetry-store';
import type { Instruments } from '../../../platform/metrics/index.ts';
import type { Devices } from '../../devices/index.ts';
import { Rejections, type TelemetryEvents } from './events.ts';
import { type IncomingMessage, Ingest } from './ingest.ts';
import { IngestPlans } from './ingest-plans.ts';
import { LatestValues } from './latest.ts';
import { LatestValue } from './latest-value.ts';
import { SeriesRegistry } from './series-registry.ts';

/** Room for the history on the disk; it may change while the gateway runs. */
interface HistoryRoomSource {
  readonly telemetry: EngineRoom;
  /** False: the rest of the disk is for state, and the journal uses the files that it has. */
  readonly mayGrow: boolean;
  onChange(listener: () => void): () => void;
}

export interface IntakeOptions extends Instruments {
  history: ThreadedHistory;
  /** Folder of the journal; made if absent. */
  journalFolder: string;
  devices: Devices;
  events: Emitter<TelemetryEvents>;
  limits: Limits;
  /** Absent: the room that the history was created with. */
  room?: HistoryRoomSource | undefined;
  /** Injected by tests. */
  journalFiles?: JournalFiles | undefined;
}

/** The parts that exist once the history was opened, or could not be opened for now. */
interface Parts {
  /** Undefined while the history cannot be opened: the latest values are updated, nothing is stored. */
  journal: Journal | undefined;
  batch: BatchWriter;
  registry: SeriesRegistry;
  plans: IngestPlans;
  ingest: Ingest;
  latest: LatestValues;
}

/** A message that waits until the history can be written. */
interface HeldMessage {
  message: IncomingMessage;
  resolve: (stored: Promise<void> | void) => void;
}

const NO_CONTENT: EngineContent = { series: [], nextSeriesId: 1, lastSequence: 0, neededFrom: 1 };

/** Soon enough to notice that the folder can be used again. */
const JOURNAL_RETRY_MS = 5_000;
const WARNING_INTERVAL_MS = 60_000;

export class Intake {
  readonly #options: IntakeOptions;
  readonly #rejections: Rejections;
  readonly #held: HeldMessage[] = [];
  #parts: Parts | undefined;
  #retry: Timer | undefined;
  #isStopped = false;
  #journalFailure: Error | undefined;
  #copiedVersion: number | undefined;

  constructor(options: IntakeOptions) {
    const { events, clock, metrics } = options;
    this.#options = options;
    this.#rejections = new Rejections({ events, clock, metrics });
  }

  async start(): Promise<void> {
    this.#isStopped = false;
    const content = await this.#options.history.start({
      onSealed: (...sealed) => void this.#release(...sealed),
      onReady: (ready) => this.#becomeReady(ready),
    });
    this.#parts = this.#build(content ?? NO_CONTENT);
    if (content) await this.#openJournal(content);
  }

  /** Syncs what is buffered and closes the journal. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#retry?.cancel();
    await this.#parts?.journal?.stop();
    this.#parts = undefined;
  }

  get isStarted(): boolean {
    return this.#parts !== undefined;
  }

  /** @throws GatewayError unavailable, before the start */
  get parts(): Readonly<Parts> {
    if (this.#parts) return this.#parts;
    throw unavailable('The gateway is starting.');
  }

  /** @throws GatewayError unavailable, while nothing can be stored */
  get writable(): Readonly<Parts> & { journal: Journal } {
    const { journal, ...rest } = this.parts;
    if (!journal) throw this.#unreachable();
    return { journal, ...rest };
  }

  /** Why samples cannot be stored or read now; undefined when all is well. */
  failure(): string | undefined {
    const { history } = this.#options;
    const failure = this.#parts?.journal?.commits.failure ?? this.#journalFailure;
    return failure ? inWords(failure) : (history.failure ?? history.status()?.degraded);
  }

  /** Takes a message; resolves once it is on disk. `isRepeated`: see `Ingest.take`. */
  store(message: IncomingMessage, isRepeated = false): Promise<void> | void {
    const { ingest, journal } = this.parts;
    const sizeBytes = ingest.take(message, isRepeated);
    if (!journal) return this.#hold(message);
    return sizeBytes > 0 || journal.commits.isFull(0)
      ? journal.commits.request(sizeBytes, message.isOwn !== true)
      : undefined;
  }

  /** Shows a message that is stored later, as a repeated one. */
  show(message: IncomingMessage): void {
    this.parts.ingest.show(message);
  }

  /** Moves times of receipt along with the wall clock. */
  stepped(jumpMs: DurationMs): void {
    this.#request(this.#parts?.ingest.stepped(jumpMs) ?? 0);
  }

  /** Deletes the data of deleted devices; data of unknown devices is kept for a while. */
  forgetUnknownDevices(): void {
    const { devices } = this.#options;
    try {
      for (const deviceId of this.#parts?.registry.deviceIds() ?? [])
        if (!devices.get(deviceId) && devices.mayForget(deviceId)) this.dropDevice(deviceId);
    } catch (error) {
      // How long one is unknown is stored; an hour that the disk does not take is not counted.
      this.#warn('telemetry-unknown', 'devices that are not known are looked at later', error);
    }
  }

  dropDevice(deviceId: string): void {
    if (!this.#parts) return;
    this.#parts.plans.forget(deviceId);
    const seriesIds = this.#parts.registry.dropDevice(deviceId);
    if (seriesIds.length === 0) return;
    this.#parts.batch.drop(seriesIds);
    this.#request(seriesIds.length);
  }

  #build(content: EngineContent): Parts {
    const { clock, devices, events } = this.#options;
    const limits = this.#options.limits.telemetry;
    const batch = new BatchWriter({ recordsPerKey: limits.recordsPerKey });
    const known = content.series.map(({ series, latest }) => {
      const value = latest && fromStored(series.type, latest.value);
      if (value === undefined) return { series, latest: undefined };
      const newest = { timestampS: latest?.timestampS ?? 0, value };
      return { series, latest: LatestValue.ofEarlierRun(clock, newest, limits.futureToleranceMs) };
    });
    const registry = new SeriesRegistry({ known, nextId: content.nextSeriesId, batch });
    const plans = new IngestPlans(devices, registry);
    const canStore = (): boolean => parts.journal?.commits.isFull(0) === false;
    const ingest = new Ingest({
      plans,
      registry,
      batch,
      events,
      clock,
      limits,
      canStore,
      rejections: this.#rejections,
    });
    const latest = new LatestValues({ plans, devices, clock });
    const parts: Parts = { journal: undefined, batch, registry, plans, ingest, latest };
    return parts;
  }

  /** Opens the journal: from then on samples are stored. */
  async #openJournal(content: EngineContent): Promise<void> {
    const { clock, log, metrics, limits, history, room, journalFiles } = this.#options;
    const parts = this.#build(content);
    try {
      parts.journal = await Journal.open({
        folder: this.#options.journalFolder,
        name: 'telemetry',
        clock,
        log,
        metrics,
        limits,
        lastKnownSequence: content.lastSequence,
        neededFrom: content.neededFrom,
        acceptsRefused: history.journalRefusal.isOver,
        isTornEndDamage: history.isTornEndDamage,
        encode: () => parts.batch.take(),
        mayGrow: () => room?.mayGrow ?? true,
        synced: (sequence, record) => history.apply(sequence, record),
        ...(journalFiles && { files: journalFiles }),
      });
    } catch (error) {
      if (this.#isStopped) return;
      this.#journalFailure = error as Error;
      history.journalRefusal.note(error);
      this.#warn('telemetry-journal', 'journal of telemetry cannot be opened, will be tried again', error);
      this.#retry = clock.setTimer(JOURNAL_RETRY_MS, () => void this.#openJournal(content));
      return;
    }
    this.#journalFailure = undefined;
    history.journalRefusal.note(undefined);
    if (this.#isStopped) return parts.journal.stop();
    // Values of the meantime are newer.
    if (this.#parts) parts.registry.takeLatest(this.#parts.registry);
    this.#parts = parts;
    this.forgetUnknownDevices();
    for (const { message, resolve } of this.#held.splice(0)) resolve(this.store(message, true));
  }

  /** The store is back: series that it lost are defined again. */
  #becomeReady(content: EngineContent): void {
    if (!this.#parts?.journal) return void this.#openJournal(content);
    this.#options.history.journalRefusal.note(undefined);
    const { registry, batch } = this.#parts;
    const known = new Set(content.series.map(({ series }) => series.id));
    for (const series of registry.all()) if (!known.has(series.id)) batch.define(series);
    this.#request(1);
  }

  async #release(fromSequence: number, nextSeriesId: number): Promise<void> {
    if (!this.#parts?.journal) return;
    const { batch, journal, registry } = this.#parts;
    batch.settledBefore(nextSeriesId);
    try {
      // The copy stands beside the journal.
      if (this.#copiedVersion !== registry.version) {
        const { version } = registry;
        await journal.segments.writeCompanion(writeSeriesCopy(registry.all()));
        this.#copiedVersion = version;
      }
    } catch (error) {
      this.#warn('telemetry-companion', 'the copy of the list of series could not be written', error);
    }
    try {
      await journal.segments.release(fromSequence - 1);
    } catch (error) {
      this.#warn('telemetry-release', 'journal segments could not be removed', error);
    }
  }

  /** Requests a commit that no caller waits for; the journal counts refusals. */
  #request(sizeBytes: number): void {
    if (sizeBytes === 0) return;
    this.#parts?.journal?.commits.request(sizeBytes).catch((error: unknown) => {
      this.#warn('telemetry-request', 'telemetry could not be stored', error);
    });
  }

  /** Holds a message whose values were taken; it is stored and acknowledged once the history can be written. */
  #hold(message: IncomingMessage): Promise<void> {
    if (this.#held.length >= this.#options.limits.telemetry.messagesBeforeHistory)
      return Promise.reject(this.#unreachable());
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.push({ message, resolve });
    return promise;
  }

  #unreachable(): Error {
    const why = this.failure() ?? 'it is starting';
    return unavailable(`The history cannot be written now: ${why}.`);
  }

  #warn(key: string, message: string, error: unknown): void {
    this.#options.log.warnLimited(key, WARNING_INTERVAL_MS, message, { error });
  }
}
