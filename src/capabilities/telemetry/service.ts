/**
 * Telemetry of all devices: taking it in, the newest values, the history.
 *
 *   message ─▶ ingest ─▶ latest values, events
 *                 └────▶ batch ─▶ journal (synced in groups) ─▶ acknowledgement
 *                                        └────▶ history (its own thread): blocks, roll-ups, queries
 */
import { Emitter } from '../../lib/emitter.ts';
import { gatewayError } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Role } from '../../platform/http/index.ts';
import { Journal, type JournalFiles } from '../../platform/journal/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { measurementTime, TIMESTAMP_KEY } from '../../protocol/telemetry.ts';
import { type BatchWriter, createBatchWriter } from './batch.ts';
import { ClockSyncBuffer } from './clock-sync-buffer.ts';
import type { PlacedValue } from './column-cursor.ts';
import type { EngineStatus } from './engine.ts';
import type { History } from './history.ts';
import { createIngest, type IncomingMessage, type Ingest } from './ingest.ts';
import { createLatestValues, type LatestAnswer, type LatestValues } from './latest.ts';
import { LatestValue } from './latest-value.ts';
import { fromStored, type Latest, type Series, type TelemetryEvents } from './model.ts';
import { createPlans, type Plans } from './plans.ts';
import { ALL_IN_ONE, type ColumnType, type QueryPlan } from './query-plan.ts';
import { createRejections } from './rejections.ts';
import { type ImportReport, restoreCsv } from './restore.ts';
import { createQueryResolver, type QueryResolver } from './resolve-query.ts';
import type { TimeSeriesQuery } from './schema.ts';
import { parseSampleLines, type SampleStretch } from './sample-lines.ts';
import { createSeriesRegistry, type SeriesRegistry } from './series-registry.ts';
import { registerStoreMetrics } from './store-metrics.ts';

export interface TelemetryOptions {
  history: History;
  /** Folder of the journal; made if absent. */
  journalFolder: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  devices: Devices;
  connectivity: Pick<Connectivity, 'handle'>;
  /** The one site, for matchers of queries. */
  site: () => { id: string; name: string; timezone: string };
  limits?: Limits;
  /** Injected by tests. */
  journalFiles?: JournalFiles;
}

export interface TimeSeriesAnswer {
  /** Type of each column after `ts`. */
  types: readonly ColumnType[];
  /** The answer as CSV text, header first; ends with the signal's reason when aborted. */
  text: AsyncGenerator<string>;
}

export interface Telemetry {
  readonly events: Emitter<TelemetryEvents>;
  /** Takes in what the disk holds; messages are handled from then on. */
  start(): Promise<void>;
  /** Syncs what is buffered and closes the journal. */
  stop(): Promise<void>;
  /**
   * One message of a device; resolves once its samples are on disk. Rejects with `unavailable` when they
   * cannot be stored.
   */
  handle(message: IncomingMessage): Promise<void> | void;
  /** Somebody waits for what was handed over last: it is stored soon. */
  expedite(): void;
  /** Values of the gateway's own device, or of any other the gateway measures itself; not waited for. */
  appendOwn(device: Device, values: Record<string, unknown>): void;
  /** The newest value and its age, infinite when nobody can tell; undefined when there is none. */
  latest(device: Device, attribute: string): (Latest & { ageMs: number }) | undefined;
  latestOfDevice(
    device: Device,
    attributes: readonly string[] | undefined,
    relevanceMs: number,
    role: Role,
  ): Map<string, LatestAnswer>;
  latestOfDevices(
    wanted: ReadonlyMap<string, readonly string[]>,
    relevanceMs: number,
    role: Role,
  ): Map<string, Map<string, LatestAnswer>>;
  /** @throws GatewayError as http-contract.md section 10.2 */
  queryTimeSeries(query: TimeSeriesQuery, role: Role, signal: AbortSignal): TimeSeriesAnswer;
  /**
   * One number over the stored samples of the window that ends at `endMs`, by default now; undefined when there
   * is none. @throws GatewayError unavailable
   */
  aggregate(
    device: Device,
    attribute: string,
    kind: 'avg' | 'min' | 'max',
    windowMs: number,
    endMs?: number,
  ): Promise<number | undefined>;
  /**
   * The stored samples of [fromS, toS), in order of time, and the last one before. At most
   * `limits.telemetry.readSamples` of them; who wants more asks again after the last. Where samples are no
   * longer kept, one for each minute or quarter of an hour stands for them. @throws GatewayError unavailable
   */
  samples(device: Device, attribute: string, fromS: number, toS: number): Promise<SampleStretch>;
  /**
   * Takes in what a time series query answered, here or on another box; devices and attributes must exist.
   * @throws GatewayError invalid_body, device_not_found
   */
  importCsv(chunks: AsyncIterable<Uint8Array>): Promise<ImportReport>;
  /** State of the store of samples, as of a few seconds ago; undefined while it starts. */
  status(): TelemetryStatus | undefined;
  /** Brings everything into history.db, so that a copy of that file has it all. @throws when the disk refuses */
  seal(): Promise<void>;
  /** The last message of a device whose blueprint declares no telemetry, for diagnosis. */
  lastRawMessage(deviceId: string): { body: Record<string, unknown>; receivedAtMs: number } | undefined;
}

/** Sizes and troubles, for the gateway's own device and its status page. */
export interface TelemetryStatus extends EngineStatus {
  journalBytes: number;
  /** Values taken in since the start. */
  valueCount: number;
}

/** Everything that exists once the history is known. */
interface Running {
  journal: Journal;
  batch: BatchWriter;
  registry: SeriesRegistry;
  plans: Plans;
  ingest: Ingest;
  latest: LatestValues;
  resolver: QueryResolver;
}

export function createTelemetry(options: TelemetryOptions): Telemetry {
  const { clock, devices, log, history } = options;
  const limits = options.limits ?? LIMITS;
  const events = new Emitter<TelemetryEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  const rejections = createRejections({ events, clock, metrics: options.metrics });
  const rawMessages = new Map<string, { body: Record<string, unknown>; receivedAtMs: number }>();
  const unsubscribe: (() => void)[] = [];
  let running: Running | undefined;
  const messages = options.metrics.counter('telemetry_messages_total', 'Telemetry messages taken in.');

  registerStoreMetrics(options.metrics, () => history.status());

  const clockSyncBuffer = new ClockSyncBuffer({ clock, messagesMax: limits.telemetry.messagesBeforeClock });

  async function start(): Promise<void> {
    const state = await history.start({ onSealed: (...sealed) => release(...sealed) });
    const batch = createBatchWriter({ recordsPerKey: limits.telemetry.recordsPerKey });
    const registry = createSeriesRegistry({
      known: state.series.map(({ series, latest }) => ({
        series,
        latest:
          latest &&
          LatestValue.ofEarlierRun(clock, inMemory(series, latest), limits.telemetry.futureToleranceMs),
      })),
      nextId: state.nextSeriesId,
      batch,
    });
    const journal = await Journal.open({
      folder: options.journalFolder,
      name: 'telemetry',
      clock,
      log,
      metrics: options.metrics,
      limits,
      lastKnownSequence: state.lastSequence,
      neededFrom: state.neededFrom,
      encode: () => batch.take(),
      synced: (sequence, record) => history.apply(sequence, record),
      ...(options.journalFiles && { files: options.journalFiles }),
    });
    const plans = createPlans(devices, registry);
    running = {
      journal,
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
        canStore: () => !journal.isFull(0),
      }),
      latest: createLatestValues({ plans, devices, clock }),
      resolver: createQueryResolver({ devices, registry, limits: limits.telemetry, site: options.site }),
    };
    unsubscribe.push(clock.onStepped(clockStepped));
    forgetUnknownDevices(running);
    unsubscribe.push(devices.events.on('device_deleted', 'telemetry', ({ device }) => dropDevice(device.id)));
    const { latest } = running;
    devices.setRaisedAlerts((device) => latest.raisedAlerts(device));
    options.connectivity.handle('telemetry', (message: DeviceMessage) => handle(message));
  }

  function release(fromSequence: number, nextSeriesId: number): void {
    running?.batch.settledBefore(nextSeriesId);
    running?.journal.release(fromSequence - 1).catch((error: unknown) => {
      log.warnLimited('telemetry-release', 60_000, 'journal segments could not be removed', { error });
    });
  }

  /** Devices that were deleted while the journal could not be told. */
  function forgetUnknownDevices({ registry }: Running): void {
    for (const deviceId of registry.deviceIds()) if (!devices.get(deviceId)) dropDevice(deviceId);
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
    clockSyncBuffer.release(store);
  }

  /** Stores something nobody waits for; a full buffer is counted by the journal. */
  function request(sizeBytes: number): void {
    if (sizeBytes === 0) return;
    running?.journal.request(sizeBytes).catch((error: unknown) => {
      log.warnLimited('telemetry-request', 60_000, 'telemetry could not be stored', { error });
    });
  }

  function requireRunning(): Running {
    if (running) return running;
    throw gatewayError('unavailable', 'unavailable', 'The gateway is starting.');
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

  function store(message: IncomingMessage): Promise<void> | void {
    const { ingest, journal, plans } = requireRunning();
    messages.inc();
    if (plans.of(message.device).declaresNothing)
      rawMessages.set(message.device.id, { body: message.body, receivedAtMs: message.receivedAtMs });
    const sizeBytes = ingest.take(message);
    return sizeBytes > 0 || journal.isFull(0) ? journal.request(sizeBytes) : undefined;
  }

  return {
    events,
    start,
    stop: async () => {
      for (const end of unsubscribe.splice(0)) end();
      await running?.journal.stop();
      running = undefined;
      await history.stop();
    },
    handle,
    expedite: () => running?.journal.expedite(),
    appendOwn: (device, values) => {
      const stored = handle({ device, body: values, receivedAtMs: clock.wallMs() });
      stored?.catch((error: unknown) => {
        log.warnLimited('telemetry-own', 60_000, 'own telemetry could not be stored', { error });
      });
    },
    latest: (device, attribute) => requireRunning().latest.value(device, attribute),
    latestOfDevice: (device, attributes, relevanceMs, role) =>
      requireRunning().latest.ofDevice(device, attributes, relevanceMs, role),
    latestOfDevices: (wanted, relevanceMs, role) =>
      requireRunning().latest.ofDevices(wanted, relevanceMs, role),
    queryTimeSeries: (query, role, signal) => {
      const { plan, header, types } = requireRunning().resolver.resolve(query, role);
      return { types, text: withHeader(header, history.rows(plan, signal)) };
    },
    aggregate: async (device, attribute, kind, windowMs, endMs = clock.wallMs()) => {
      const plan = aggregatePlan(requireRunning(), device, attribute, kind, {
        fromS: Math.floor((endMs - windowMs) / 1_000),
        toS: Math.floor(endMs / 1_000) + 1,
      });
      if (!plan) return undefined;
      const cell = (await textOf(history.rows(plan, NEVER))).trim().split(',')[1];
      return cell ? Number(cell) : undefined;
    },
    samples: async (device, attribute, fromS, toS) => {
      const series = requireRunning().plans.of(device).attributes.get(attribute)?.state?.series;
      if (!series) return { before: undefined, samples: [], isComplete: true };
      const { readSamples: samplesMax, readBytes: bytesMax } = limits.telemetry;
      const plan = { seriesId: series.id, fromS, toS, samplesMax, bytesMax };
      return parseSampleLines(await textOf(history.rows(plan, NEVER)), series.type);
    },
    importCsv: (chunks) => restoreCsv(chunks, { devices, ...requireRunning() }),
    status: () => {
      const status = history.status();
      if (!status || !running) return undefined;
      const { journal, ingest } = running;
      const degraded = journal.failure ? journal.failure.message : status.degraded;
      return { ...status, degraded, journalBytes: journal.sizeBytes(), valueCount: ingest.valueCount };
    },
    seal: async () => {
      await requireRunning().journal.flush();
      await history.seal();
    },
    lastRawMessage: (deviceId) => rawMessages.get(deviceId),
  };
}

const NEVER = new AbortController().signal;

function aggregatePlan(
  { plans }: Running,
  device: Device,
  attribute: string,
  aggregation: 'avg' | 'min' | 'max',
  range: { fromS: number; toS: number },
): QueryPlan | undefined {
  const seriesId = plans.of(device).attributes.get(attribute)?.state?.series.id;
  if (seriesId === undefined) return undefined;
  const column = { kind: 'number', gapMethod: 'none', lookAroundS: 0, type: 'float' } as const;
  return { ...range, ...ALL_IN_ONE, columns: [{ ...column, seriesId, aggregation }] };
}

function inMemory(series: Series, { timestampS, value }: PlacedValue): Latest {
  return { timestampS, value: fromStored(series.type, value) };
}

function hasTime({ body }: IncomingMessage): boolean {
  return measurementTime(body[TIMESTAMP_KEY], 0, FOREVER).timestampS > 0;
}

const FOREVER = { futureToleranceMs: Number.POSITIVE_INFINITY, lateMs: Number.POSITIVE_INFINITY };

async function textOf(pieces: AsyncGenerator<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

async function* withHeader(header: string, rows: AsyncGenerator<string>): AsyncGenerator<string> {
  yield header;
  yield* rows;
}
