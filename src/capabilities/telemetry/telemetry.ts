/** What telemetry offers to the other capabilities, and what it needs. */
import type { Emitter } from '../../lib/emitter.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Role } from '../../lib/role.ts';
import type { JournalFiles } from '../../platform/journal/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { AmountMinutes } from './amount-lines.ts';
import type { EngineStatus } from './engine.ts';
import type { EngineRoom } from './store-room.ts';
import type { History } from './history.ts';
import type { IncomingMessage } from './ingest.ts';
import type { LatestAnswer } from './latest.ts';
import type { Latest, TelemetryEvents } from './model.ts';
import type { AmountColumn, AmountsPlan, ColumnType } from './query-plan.ts';
import type { ImportReport } from './restore.ts';
import type { SampleStretch } from './sample-lines.ts';
import type { TimeSeriesQuery } from './schema.ts';

/** Room that the history may take on the disk; the gateway changes it while it runs. */
export interface HistoryRoomSource {
  readonly telemetry: EngineRoom;
  /** False: what is left of the disk is for state, the journal may use what it has. */
  readonly mayGrow: boolean;
  onChange(listener: () => void): () => void;
}

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
  /** Absent: the room that the history was made with. */
  room?: HistoryRoomSource;
  /** Injected by tests. */
  journalFiles?: JournalFiles;
}

export interface AmountsQuery extends Omit<AmountsPlan, 'amounts'> {
  columns: readonly (Omit<AmountColumn, 'seriesId'> & { device: Device; attribute: string })[];
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
  /** @throws GatewayError as docs/interface/http.md#time-series */
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
   * What series of numbers amount to in each whole minute of [fromS, toS), in pieces of some hours; minutes of which
   * nothing is known are left out. Where samples are no longer kept, cells of a minute or a quarter of an hour stand
   * for them. @throws GatewayError unavailable
   */
  amounts(query: AmountsQuery, signal: AbortSignal): AsyncGenerator<AmountMinutes>;
  /**
   * Takes in what a time series query answered, here or on another box; devices and attributes must exist.
   * @throws GatewayError invalid_body, device_not_found
   */
  importCsv(chunks: AsyncIterable<Uint8Array>): Promise<ImportReport>;
  /** State of the store of samples, as of a few seconds ago; undefined while it starts. */
  status(): TelemetryStatus | undefined;
  /** Segments of the journal that were set aside because not everything in them could be read. */
  damagedSegments(): string[];
  /** Devices that are not known and whose history is kept, in case that they come back. */
  unknownDeviceIds(): string[];
  /** Why samples cannot be stored or read now; undefined when all is well. The newest values follow anyway. */
  failure(): string | undefined;
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
