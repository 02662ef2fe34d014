import {
  type AmountColumn,
  type AmountMinutes,
  type AmountsPlan,
  type Changes,
  type ChangesPlan,
  type ColumnType,
  type EngineStatus,
  type Latest,
  type SampleStretch,
  type Series,
  stretchOf,
} from '#telemetry-store';
import { Emitter } from '../../lib/emitter.ts';
import { unavailable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Role } from '../../lib/role.ts';
import type { DurationMs, EpochS, MonotonicMs } from '../../lib/time.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Connectivity, DeviceMessage } from '../connectivity/index.ts';
import type { Device } from '../devices/index.ts';
import { importCsv, type ImportReport } from './import.ts';
import { ClockSyncBuffer, hasTime } from './intake/clock-sync-buffer.ts';
import type { ReportedAlerts, TelemetryEvents } from './intake/events.ts';
import type { IncomingMessage } from './intake/ingest.ts';
import { Intake, type IntakeOptions } from './intake/intake.ts';
import type { LatestAnswer, LatestValues } from './intake/latest.ts';
import { QueryResolver } from './resolve-query.ts';
import type { TimeSeriesQuery } from './schema.ts';

interface TelemetryOptions extends Omit<IntakeOptions, 'events' | 'limits'> {
  connectivity: Pick<Connectivity, 'handle'>;
  /** The one site, for matchers of queries. */
  site: () => { id: string; name: string; timezone: string };
  limits?: Limits;
}

/** Amounts of several attributes over one range. */
export interface AmountsQuery extends Omit<AmountsPlan, 'amounts'> {
  columns: readonly (Omit<AmountColumn, 'seriesId'> & { device: Device; attribute: string })[];
}

export interface TimeSeriesAnswer {
  /** Type of each column after `ts`. */
  types: readonly ColumnType[];
  /** The answer as CSV text in UTF-8, header first; ends with the signal's reason when aborted. */
  csv: AsyncGenerator<Uint8Array>;
}

/** Sizes and faults, for the gateway's own device and its status page. */
interface TelemetryStatus extends EngineStatus {
  journalBytes: number;
  /** Values taken since the start. */
  valueCount: number;
}

const UNKNOWN_INTERVAL_MS = 3_600_000;
const NEVER = new AbortController().signal;

/**
 * Telemetry of all devices: taking it in, the newest values, the history.
 *
 *   message ─▶ ingest ─▶ latest values, events
 *                 └────▶ batch ─▶ journal (synced in groups) ─▶ acknowledgement
 *                                        └────▶ history (its own thread): blocks, roll-ups, queries
 */
export class Telemetry {
  readonly events: Emitter<TelemetryEvents>;
  readonly #options: TelemetryOptions;
  readonly #limits: Limits['telemetry'];
  readonly #intake: Intake;
  readonly #clockSyncBuffer: ClockSyncBuffer;
  readonly #messages: { inc: () => void };
  readonly #unsubscribe: (() => void)[] = [];

  constructor(options: TelemetryOptions) {
    const { clock, log, metrics, history, limits = LIMITS } = options;
    this.#options = options;
    this.#limits = limits.telemetry;
    this.events = new Emitter(log);
    this.#intake = new Intake({ ...options, events: this.events, limits });
    this.#messages = metrics.counter('telemetry_messages_total', 'Telemetry messages taken in.');
    registerStoreMetrics(metrics, () => history.status());
    this.#clockSyncBuffer = new ClockSyncBuffer({
      clock,
      metrics,
      messagesMax: this.#limits.messagesBeforeClock,
    });
  }

  /** Reads what the disk holds; messages are handled from then on. */
  async start(): Promise<void> {
    const { clock, room, history, devices, connectivity } = this.#options;
    await this.#intake.start();
    const hourly = clock.setRepeating(UNKNOWN_INTERVAL_MS, () => this.#intake.forgetUnknownDevices());
    this.#unsubscribe.push(
      clock.onStepped((jumpMs) => this.#clockStepped(jumpMs)),
      ...(room ? [room.onChange(() => history.setRoom(room.telemetry))] : []),
      () => hourly.cancel(),
      devices.events.on('device_deleted', 'telemetry', ({ device }) => this.#intake.dropDevice(device.id)),
    );
    devices.raisedAlertNames = (device, role) => this.#intake.parts.latest.raisedAlerts(device, role);
    devices.usualPauseS = (device) => this.#intake.parts.latest.usualPauseS(device);
    connectivity.handle('telemetry', (message: DeviceMessage) => this.handle(message));
  }

  /** Syncs what is buffered and closes the journal. */
  async stop(): Promise<void> {
    for (const end of this.#unsubscribe.splice(0)) end();
    await this.#intake.stop();
    await this.#options.history.stop();
  }

  /** One message of a device; resolves once its samples are on disk. @throws GatewayError unavailable */
  handle(message: IncomingMessage): Promise<void> | void {
    if (!this.#intake.isStarted) return Promise.reject(unavailable('The gateway is starting.'));
    if (this.#options.clock.isSet() || hasTime(message)) return this.#store(message);
    this.#intake.show(message);
    return (
      this.#clockSyncBuffer.hold(message) ??
      Promise.reject(unavailable('The clock of the gateway is not set.'))
    );
  }

  /** Somebody waits for the last message: it is stored soon. */
  expedite(): void {
    this.#intake.parts.journal?.commits.expedite();
  }

  /** Values of the gateway's own device, or of any other the gateway measures itself; not waited for. */
  appendOwn(device: Device, values: Record<string, unknown>): void {
    const { clock, log } = this.#options;
    const stored = this.handle({ device, body: values, receivedAtMs: clock.wallMs(), isOwn: true });
    stored?.catch((error: unknown) => {
      log.warnLimited('telemetry-own', 60_000, 'own telemetry could not be stored', { error });
    });
  }

  /** The newest value and its age, infinite when unknown; undefined when there is none. */
  latest(device: Device, attribute: string): (Latest & { ageMs: DurationMs }) | undefined {
    return this.#intake.parts.latest.value(device, attribute);
  }

  /** The last report of alerts; undefined when there was none. @throws GatewayError unavailable */
  alerts(device: Device): ReportedAlerts | undefined {
    return this.#intake.parts.latest.alerts(device);
  }

  /** Whether any value of the device is known. @throws GatewayError unavailable */
  wasHeard(device: Device): boolean {
    return this.#intake.parts.latest.wasHeard(device);
  }

  /** When a value of the device arrived last; undefined: not since this run or its manifest began. */
  heardAtMs(device: Device): MonotonicMs | undefined {
    return this.#intake.parts.latest.heardAtMs(device);
  }

  latestOfDevice(...asked: Parameters<LatestValues['ofDevice']>): Map<string, LatestAnswer> {
    return this.#intake.parts.latest.ofDevice(...asked);
  }

  latestOfDevices(...asked: Parameters<LatestValues['ofDevices']>): Map<string, Map<string, LatestAnswer>> {
    return this.#intake.parts.latest.ofDevices(...asked);
  }

  /** @throws GatewayError as docs/interface/http.md#time-series */
  queryTimeSeries(query: TimeSeriesQuery, role: Role, signal: AbortSignal): TimeSeriesAnswer {
    const { devices, site, history } = this.#options;
    const { plans, registry } = this.#intake.parts;
    const resolver = new QueryResolver({ devices, plans, registry, limits: this.#limits, site });
    const { plan, header, types } = resolver.resolve(query, role);
    return { types, csv: withHeader(header, history.query(plan, signal)) };
  }

  /**
   * One number over the stored samples of the window that ends at `endMs`, by default now; undefined when there
   * is none. @throws GatewayError unavailable
   */
  async aggregate(
    device: Device,
    attribute: string,
    aggregation: 'avg' | 'min' | 'max',
    windowMs: DurationMs,
    endMs = this.#options.clock.wallMs(),
  ): Promise<number | undefined> {
    const seriesId = this.#series(device, attribute)?.id;
    if (seriesId === undefined) return undefined;
    const column = { kind: 'number', gapMethod: 'none', lookAroundS: 0, type: 'float' } as const;
    const plan = {
      number: { ...column, seriesId, aggregation },
      fromS: Math.floor((endMs - windowMs) / 1_000),
      toS: Math.floor(endMs / 1_000) + 1,
    };
    for await (const number of this.#options.history.query(plan, NEVER)) return number;
    return undefined;
  }

  /**
   * The stored samples of [fromS, toS), in order of time, and the last one before. At most `limits.telemetry.readSamples`
   * of them: ask again after the last for more. Where samples have expired, there is one for each minute or quarter of
   * an hour. @throws GatewayError unavailable
   */
  async samples(device: Device, attribute: string, fromS: EpochS, toS: EpochS): Promise<SampleStretch> {
    const series = this.#series(device, attribute);
    if (!series) return { before: undefined, samples: [], isComplete: true };
    const { readSamples: samplesMax, readBytes: bytesMax } = this.#limits;
    const plan = { seriesId: series.id, fromS, toS, samplesMax, bytesMax };
    return await stretchOf(this.#options.history.query(plan, NEVER), series.type);
  }

  /**
   * The last number in each quarter of an hour of [fromS, toS), counted from 1970; quarters without one are absent.
   * @throws GatewayError unavailable
   */
  async quarters(
    device: Device,
    attribute: string,
    fromS: EpochS,
    toS: EpochS,
  ): Promise<Map<number, number>> {
    const quarters = new Map<number, number>();
    const seriesId = this.#series(device, attribute)?.id;
    if (seriesId === undefined) return quarters;
    const kind = { kind: 'number', gapMethod: 'none', lookAroundS: 0, type: 'float' } as const;
    const plan = {
      fromS,
      toS,
      granularityS: 900,
      columns: [{ ...kind, seriesId, aggregation: 'last' as const }],
    };
    const pieces: Uint8Array[] = [];
    for await (const piece of this.#options.history.query(plan, NEVER)) pieces.push(piece);
    for (const row of Buffer.concat(pieces).toString('latin1').split('\n')) {
      const [startS, value] = row.split(',');
      if (value !== undefined && value !== '') quarters.set(Number(startS) / 900, Number(value));
    }
    return quarters;
  }

  /**
   * The amounts of series of numbers in each whole minute of [fromS, toS), in pieces of some hours, without minutes of
   * which nothing is known. Where samples have expired, cells of a minute or a quarter of an hour stand for them.
   * @throws GatewayError unavailable
   */
  amounts({ columns, ...range }: AmountsQuery, signal: AbortSignal): AsyncGenerator<AmountMinutes> {
    const amounts = columns.map(({ device, attribute, ...column }) => ({
      ...column,
      seriesId: this.#series(device, attribute)?.id,
    }));
    return this.#options.history.query({ ...range, amounts }, signal);
  }

  /**
   * Imports the answer of a time series query, of this or another box; devices and attributes must exist.
   * @throws GatewayError invalid_body, device_not_found
   */
  async importCsv(chunks: AsyncIterable<Uint8Array>): Promise<ImportReport> {
    try {
      return await importCsv(chunks, { ...this.#options, ...this.#intake.writable });
    } finally {
      this.events.emit('history_imported', {});
    }
  }

  /**
   * The samples stored after a position, each at least once, those of one series in order of arrival; the caller keeps
   * the position. @throws GatewayError unavailable
   */
  changes(plan: ChangesPlan): Promise<Changes> {
    return this.#options.history.changes(plan);
  }

  /** Keeps changes after this journal record; undefined: nobody reads them. */
  keepChanges(sequence: number | undefined): void {
    this.#options.history.keepChanges(sequence);
  }

  /** State of the store of samples, as of a few seconds ago; undefined while it starts. */
  status(): TelemetryStatus | undefined {
    const status = this.#options.history.status();
    if (!status || !this.#intake.isStarted) return undefined;
    const { journal, ingest } = this.#intake.parts;
    return {
      ...status,
      degraded: this.failure(),
      journalBytes: journal?.segments.sizeBytes() ?? 0,
      valueCount: ingest.valueCount,
    };
  }

  /** Segments of the journal that were set aside because they are damaged. */
  damagedSegments(): string[] {
    return this.#intake.parts.journal?.segments.damagedSegments() ?? [];
  }

  /** Unknown devices whose history is kept in case they come back. */
  unknownDeviceIds(): string[] {
    const { devices } = this.#options;
    return this.#intake.parts.registry.deviceIds().filter((id) => !devices.get(id));
  }

  /** Why samples cannot be stored or read now; undefined when all is well. Latest values are updated anyway. */
  failure(): string | undefined {
    return this.#intake.failure();
  }

  /** Writes everything into history.db, so that a copy of the file is complete. @throws when the disk refuses */
  async seal(): Promise<void> {
    await this.#intake.writable.journal.commits.flush();
    await this.#options.history.seal();
  }

  #series(device: Device, attribute: string): Series | undefined {
    return this.#intake.parts.plans.of(device).attributes.get(attribute)?.state?.series;
  }

  #store(message: IncomingMessage, isRepeated = false): Promise<void> | void {
    this.#messages.inc();
    return this.#intake.store(message, isRepeated);
  }

  /** Known values move along before held messages are stored. */
  #clockStepped(jumpMs: DurationMs): void {
    this.#intake.stepped(jumpMs);
    this.#clockSyncBuffer.release((message) => this.#store(message, true));
  }
}

async function* withHeader(header: string, rows: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const first = await rows.next();
  const head = Buffer.from(header);
  yield first.done ? head : Buffer.concat([head, first.value]);
  yield* rows;
}

// The state of the store on the metrics page.

export function registerStoreMetrics(metrics: Metrics, status: () => EngineStatus | undefined): void {
  const show = (name: string, help: string, value: (status: EngineStatus) => number | undefined): void => {
    metrics.gauge(`telemetry_store_${name}`, help, [], (gauge) => {
      const known = status();
      const shown = known && value(known);
      // Unknown is not zero: such a sample is left out.
      if (shown === undefined) gauge.remove();
      else gauge.set(shown);
    });
  };
  show('used_bytes', 'Pages of history.db in use.', ({ usedBytes }) => usedBytes);
  show('file_bytes', 'Size of history.db.', ({ fileBytes }) => fileBytes);
  show('limit_bytes', 'Limit of everything that belongs to the history.', ({ sizeMaxBytes }) => sizeMaxBytes);
  show('forecast_days', 'Days until the oldest is removed to make room.', ({ forecastDays }) => forecastDays);
  show('series', 'Series known.', ({ seriesCount }) => seriesCount);
  show('open_samples', 'Samples in the journal only.', ({ openSamples }) => openSamples);
  show('damaged', 'Blocks and records not readable since the start.', ({ damaged }) => damaged);
  show('degraded', '1 while the store cannot write.', ({ degraded }) => (degraded === undefined ? 0 : 1));
}
