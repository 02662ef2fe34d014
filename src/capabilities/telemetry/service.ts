/**
 * Telemetry of all devices: taking it in, the newest values, the history.
 *
 *   message ─▶ ingest ─▶ latest values, events
 *                 └────▶ batch ─▶ journal (synced in groups) ─▶ acknowledgement
 *                                        └────▶ history (its own thread): blocks, roll-ups, queries
 */
import { Emitter } from '../../lib/emitter.ts';
import { gatewayError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Timer } from '../../platform/clock/index.ts';
import { Journal } from '../../platform/journal/index.ts';
import type { DeviceMessage } from '../connectivity/index.ts';
import { type BatchWriter, createBatchWriter } from './batch.ts';
import { ClockSyncBuffer, hasTime } from './clock-sync-buffer.ts';
import type { EngineContent } from './engine.ts';
import { createIngest, type IncomingMessage, type Ingest } from './ingest.ts';
import { createLatestValues, type LatestValues } from './latest.ts';
import { LatestValue } from './latest-value.ts';
import { toMemory } from './latest-blob.ts';
import type { TelemetryEvents } from './model.ts';
import { createPlans, type Plans } from './plans.ts';
import { createReading } from './reading.ts';
import { createRejections } from './rejections.ts';
import { restoreCsv } from './restore.ts';
import { createQueryResolver, type QueryResolver } from './resolve-query.ts';
import { writeSeriesCopy } from './series-copy.ts';
import { createSeriesRegistry, type SeriesRegistry } from './series-registry.ts';
import type { Telemetry, TelemetryOptions } from './telemetry.ts';
import { registerStoreMetrics } from './store-metrics.ts';

/** Everything that exists once the history is known, or is known to be unreachable for now. */
interface Running {
  /** Undefined while the history cannot be opened: the newest values follow, nothing is stored. */
  journal: Journal | undefined;
  batch: BatchWriter;
  registry: SeriesRegistry;
  plans: Plans;
  ingest: Ingest;
  latest: LatestValues;
  resolver: QueryResolver;
}

/** Waits until the history can be written. */
interface HeldMessage {
  message: IncomingMessage;
  resolve: (stored: Promise<void> | void) => void;
}

const createEvents = (log: TelemetryOptions['log']): Emitter<TelemetryEvents> =>
  new Emitter((owner, event, error) => log.error('listener failed', { owner, event, error }));

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { clock, devices, log, history, limits = LIMITS } = options;
  const events = createEvents(log);
  const rejections = createRejections({ events, clock, metrics: options.metrics });
  const rawMessages = new Map<string, { body: Record<string, unknown>; receivedAtMs: number }>();
  const unsubscribe: (() => void)[] = [];
  let running: Running | undefined;
  let retry: Timer | undefined;
  let isStopped = false;
  const held: HeldMessage[] = [];
  let journalFailure: Error | undefined;
  let copiedVersion: number | undefined;
  const messages = options.metrics.counter('telemetry_messages_total', 'Telemetry messages taken in.');
  registerStoreMetrics(options.metrics, () => history.status());
  const clockSyncBuffer = new ClockSyncBuffer({ clock, messagesMax: limits.telemetry.messagesBeforeClock });

  async function start(): Promise<void> {
    isStopped = false;
    const content = await history.start({
      onSealed: (...sealed) => void release(...sealed),
      onReady: becomeReady,
    });
    running = build(content ?? { series: [], nextSeriesId: 1, lastSequence: 0, neededFrom: 1 });
    if (content) await complete(content);
    unsubscribe.push(clock.onStepped(clockStepped));
    const { room } = options;
    if (room) unsubscribe.push(room.onChange(() => history.setRoom(room.telemetry)));
    const hourly = clock.setRepeating(UNKNOWN_INTERVAL_MS, () => running && forgetUnknownDevices(running));
    unsubscribe.push(() => hourly.cancel());
    unsubscribe.push(devices.events.on('device_deleted', 'telemetry', ({ device }) => dropDevice(device.id)));
    devices.setRaisedAlerts((device) => requireRunning().latest.raisedAlerts(device));
    options.connectivity.handle('telemetry', (message: DeviceMessage) => handle(message));
  }

  function build(content: EngineContent): Running {
    const batch = createBatchWriter({ recordsPerKey: limits.telemetry.recordsPerKey });
    const registry = createSeriesRegistry({
      known: content.series.map(({ series, latest }) => ({
        series,
        latest:
          latest &&
          LatestValue.ofEarlierRun(clock, toMemory(series, latest), limits.telemetry.futureToleranceMs),
      })),
      nextId: content.nextSeriesId,
      batch,
    });
    const plans = createPlans(devices, registry);
    const built: Running = {
      journal: undefined,
      batch,
      registry,
      plans,
      ingest: createIngest({
        plans,
        registry,
        batch,
        events,
        rejections,
        clock,
        limits: limits.telemetry,
        canStore: () => built.journal?.isFull(0) === false,
      }),
      latest: createLatestValues({ plans, devices, clock }),
      resolver: createQueryResolver({ devices, registry, limits: limits.telemetry, site: options.site }),
    };
    return built;
  }

  /** The history is known: from here on samples are stored. */
  async function complete(content: EngineContent): Promise<void> {
    const built = build(content);
    try {
      const { batch } = built;
      built.journal = await Journal.open({
        folder: options.journalFolder,
        name: 'telemetry',
        clock,
        log,
        metrics: options.metrics,
        limits,
        lastKnownSequence: content.lastSequence,
        neededFrom: content.neededFrom,
        encode: () => batch.take(),
        mayGrow: () => options.room?.mayGrow ?? true,
        synced: (sequence, record) => history.apply(sequence, record),
        ...(options.journalFiles && { files: options.journalFiles }),
      });
    } catch (error) {
      if (isStopped) return;
      journalFailure = error as Error;
      log.warnLimited(
        'telemetry-journal',
        60_000,
        'journal of telemetry cannot be opened, will be tried again',
        {
          error,
        },
      );
      retry = clock.setTimer(JOURNAL_RETRY_MS, () => void complete(content));
      return;
    }
    journalFailure = undefined;
    if (isStopped) return built.journal.stop();
    // What was measured in the meantime is newer.
    if (running) built.registry.takeLatest(running.registry);
    running = built;
    forgetUnknownDevices(built);
    for (const { message, resolve } of held.splice(0)) resolve(store(message, true));
  }

  /** The store is back: what it lost of the list of series is told again. */
  function becomeReady(content: EngineContent): void {
    if (!running?.journal) return void complete(content);
    const known = new Set(content.series.map(({ series }) => series.id));
    for (const series of running.registry.all()) if (!known.has(series.id)) running.batch.define(series);
    request(1);
  }

  async function release(fromSequence: number, nextSeriesId: number): Promise<void> {
    if (!running?.journal) return;
    const { batch, journal, registry } = running;
    batch.settledBefore(nextSeriesId);
    try {
      // The copy stands beside the journal.
      if (copiedVersion !== registry.version) {
        const { version } = registry;
        await journal.writeCompanion(writeSeriesCopy(registry.all()));
        copiedVersion = version;
      }
    } catch (error) {
      log.warnLimited('telemetry-companion', 60_000, 'the copy of the list of series could not be written', {
        error,
      });
    }
    try {
      await journal.release(fromSequence - 1);
    } catch (error) {
      log.warnLimited('telemetry-release', 60_000, 'journal segments could not be removed', { error });
    }
  }

  /** Deletes what is left of devices that were deleted; what is merely unknown stays for a while. */
  function forgetUnknownDevices({ registry }: Running): void {
    for (const deviceId of registry.deviceIds())
      if (!devices.get(deviceId) && devices.mayForget(deviceId)) dropDevice(deviceId);
  }

  function dropDevice(deviceId: string): void {
    if (!running) return;
    rawMessages.delete(deviceId);
    running.plans.forget(deviceId);
    const seriesIds = running.registry.dropDevice(deviceId);
    if (seriesIds.length === 0) return;
    running.batch.drop(seriesIds);
    request(seriesIds.length);
  }

  /** What is known moves along before anything new comes. */
  function clockStepped(jumpMs: number): void {
    request(running?.ingest.stepped(jumpMs) ?? 0);
    clockSyncBuffer.release((message) => store(message));
  }

  /** Stores something nobody waits for; a full buffer is counted by the journal. */
  function request(sizeBytes: number): void {
    if (sizeBytes === 0) return;
    running?.journal?.request(sizeBytes).catch((error: unknown) => {
      log.warnLimited('telemetry-request', 60_000, 'telemetry could not be stored', { error });
    });
  }

  function requireRunning(): Running {
    if (running) return running;
    throw gatewayError('unavailable', 'unavailable', 'The gateway is starting.');
  }

  function failure(): string | undefined {
    return (
      running?.journal?.failure?.message ??
      journalFailure?.message ??
      history.failure ??
      history.status()?.degraded
    );
  }

  function unreachable(): Error {
    return gatewayError(
      'unavailable',
      'unavailable',
      `The history cannot be written now: ${failure() ?? 'it is starting'}.`,
    );
  }

  function requireJournal(): Running & { journal: Journal } {
    const { journal, ...rest } = requireRunning();
    if (!journal) throw unreachable();
    return { journal, ...rest };
  }

  function handle(message: IncomingMessage): Promise<void> | void {
    if (!running)
      return Promise.reject(gatewayError('unavailable', 'unavailable', 'The gateway is starting.'));
    if (clock.isSet() || hasTime(message)) return store(message);
    return (
      clockSyncBuffer.hold(message) ??
      Promise.reject(gatewayError('unavailable', 'unavailable', 'The clock of the gateway is not set.'))
    );
  }

  /** Its values are known; it is stored, and acknowledged, once the history can be written again. */
  function hold(message: IncomingMessage): Promise<void> {
    if (held.length >= limits.telemetry.messagesBeforeHistory) return Promise.reject(unreachable());
    const { promise, resolve } = Promise.withResolvers<void>();
    held.push({ message, resolve });
    return promise;
  }

  function store(message: IncomingMessage, isRepeated = false): Promise<void> | void {
    const { ingest, journal, plans } = requireRunning();
    messages.inc();
    if (plans.of(message.device).declaresNothing)
      rawMessages.set(message.device.id, { body: message.body, receivedAtMs: message.receivedAtMs });
    const sizeBytes = ingest.take(message, isRepeated);
    if (!journal) return hold(message);
    return sizeBytes > 0 || journal.isFull(0) ? journal.request(sizeBytes) : undefined;
  }

  async function seal(): Promise<void> {
    await requireJournal().journal.flush();
    await history.seal();
  }

  return {
    events,
    start,
    stop: async () => {
      for (const end of unsubscribe.splice(0)) end();
      isStopped = true;
      retry?.cancel();
      await running?.journal?.stop();
      running = undefined;
      await history.stop();
    },
    handle,
    appendOwn: (device, values) => {
      const stored = handle({ device, body: values, receivedAtMs: clock.wallMs() });
      stored?.catch((error: unknown) => {
        log.warnLimited('telemetry-own', 60_000, 'own telemetry could not be stored', { error });
      });
    },
    ...createReading(options, limits.telemetry, requireRunning),
    importCsv: (chunks) => restoreCsv(chunks, { devices, ...requireJournal() }),
    status: () => {
      const status = history.status();
      if (!status || !running) return undefined;
      const { journal, ingest } = running;
      const journalBytes = journal?.sizeBytes() ?? 0;
      return { ...status, degraded: failure(), journalBytes, valueCount: ingest.valueCount };
    },
    failure,
    seal,
    lastRawMessage: (deviceId) => rawMessages.get(deviceId),
  };
}

const UNKNOWN_INTERVAL_MS = 3_600_000;

/** G: a folder that can be used again is noticed soon. */
const JOURNAL_RETRY_MS = 5_000;
