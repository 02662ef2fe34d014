/** Targets: servers, brokers and folders that the gateway sends its telemetry to. */
import type { Problem } from '../../lib/errors.ts';
import type { DurationS, EpochMs } from '../../lib/time.ts';
import type { ChangedSamples, ChangePosition } from '../telemetry/index.ts';

export const TARGET_KINDS = ['INFLUXDB', 'MQTT', 'FOLDER'] as const;
type TargetKind = (typeof TARGET_KINDS)[number];

export const TOKEN_SCHEMES = ['Token', 'Bearer'] as const;

/** Line protocol over HTTP. */
export interface InfluxdbSettings {
  kind: 'INFLUXDB';
  /** Whole address of the write call, with database or bucket in its query. */
  url: string;
  measurement: string;
  /** With it the secret is the password of a Basic login; without, a token. */
  username: string | null;
  tokenScheme: (typeof TOKEN_SCHEMES)[number];
  /** Authorities to trust instead of those of the system. */
  caPem: string | null;
  isCompressed: boolean;
}

/**
 * PLAIN: messages by templates. HOME_ASSISTANT: its discovery, and the newest value of each attribute. SPARKPLUG_B: an edge
 * node with devices.
 */
export const MQTT_FORMS = ['PLAIN', 'HOME_ASSISTANT', 'SPARKPLUG_B'] as const;

/** Default of `topic`. */
export const DEFAULT_TOPICS: Readonly<Record<MqttSettings['form'], string>> = {
  PLAIN: '{site}/{device}/telemetry',
  HOME_ASSISTANT: 'energy-gateway',
  SPARKPLUG_B: 'energy-gateway',
};

/** Messages to a broker. */
export interface MqttSettings {
  kind: 'MQTT';
  /** mqtt: or mqtts:, with host and port. */
  url: string;
  /** Empty: the broker gives one. */
  clientId: string;
  username: string | null;
  /** Authorities to trust instead of those of the system. */
  caPem: string | null;
  /** The client's own; its key is a secret. */
  certificatePem: string | null;
  form: (typeof MQTT_FORMS)[number];
  /** PLAIN: template of the topic; HOME_ASSISTANT: first level of all topics of states; SPARKPLUG_B: the group. */
  topic: string;
  /** PLAIN: template of the topic of records; absent: the default. */
  recordsTopic?: string;
  /** PLAIN: template of the payload. */
  payload: string;
  isRetained: boolean;
  /** HOME_ASSISTANT: first level of the topics of its discovery. */
  discoveryPrefix: string;
  /** SPARKPLUG_B: host application without which nothing is sent; absent or null: none. */
  hostId?: string | null;
  /** Absent or null: the target sends no commands. */
  commands?: CommandSettings | null;
}

/** Roles that commands of a target may have. Whoever makes a target has them, too. */
export const COMMAND_LEVELS = ['READONLY', 'USER', 'OWNER'] as const;

/** Which commands the gateway takes from a broker. */
export interface CommandSettings {
  /** Ids or slugs. */
  devices: string[];
  /** Role of the sender. */
  level: (typeof COMMAND_LEVELS)[number];
  /** Template that knows {site}: requests come and answers go below. */
  topic: string;
  perMinute: number;
}

/** Outcome of a command that a target sent; empty while it is not known. */
export interface RequestOutcome {
  executionId?: string;
  /** Why there is no execution. */
  errors?: readonly Problem[];
}

/** CSV files by day. */
export interface FolderSettings {
  kind: 'FOLDER';
  path: string;
  /** The path was on another file system than the data when it was set: nothing is written while that is not mounted. */
  isMount: boolean;
  /** Length of time whose samples go to one file of each day; until that file has its name the store keeps them. */
  pieceMinutes: number;
  isCompressed: boolean;
}

export type TargetSettings = InfluxdbSettings | MqttSettings | FolderSettings;

/** Sent to the server of the target and never shown. */
export interface TargetSecrets {
  /** Token or password. */
  secret?: string;
  /** Private key of the client's certificate. */
  privateKeyPem?: string;
}

/** Contents that can be sent besides telemetry. */
const RECORD_CONTENTS = [
  'PROPERTIES',
  'ALERTS',
  'CONNECTIVITY',
  'DEVICE_LOGS',
  'RULE_LOGS',
  'EXECUTIONS',
  'AUDIT',
] as const;
export type RecordContent = (typeof RECORD_CONTENTS)[number];
export const CONTENTS = ['TELEMETRY', ...RECORD_CONTENTS] as const;
type Content = (typeof CONTENTS)[number];

/** The number up to which each selected content was sent. */
export type RecordCursor = { [Content in RecordContent]?: number };

/** Content of one record. */
export interface FoundRecord {
  /** Absent when the record concerns no device. */
  deviceId?: string;
  atMs: EpochMs;
  /** Values of low cardinality, by which databases tell series apart. */
  tags: Readonly<Record<string, string>>;
  /** The record as the HTTP interface shows it. */
  body: object;
}

/** A record to be sent; its content and number identify it, however often it is sent. */
export interface CarriedRecord extends FoundRecord {
  content: RecordContent;
  number: number;
}

/** A record with the labels of its device, or of the site alone. */
export interface LabelledRecord extends CarriedRecord {
  labels: Pick<DeviceLabels, 'site'> & Partial<DeviceLabels>;
}

/** Order in which a backlog is sent. */
export const BACKLOG_ORDERS = ['OLDEST_FIRST', 'NEWEST_FIRST'] as const;
type BacklogOrder = (typeof BACKLOG_ORDERS)[number];

/** The data that is sent, and its rate. */
export interface Selection {
  /** Absent: telemetry. */
  contents?: readonly Content[];
  /** Ids or slugs; null: all. */
  devices: string[] | null;
  /** Names; a `*` at the end stands for any ending; null: all. */
  attributes: string[] | null;
  /** At most one sample of a series in each interval; 0: all. */
  intervalS: DurationS;
  /** Only samples that differ from the previous one. */
  isOnChange: boolean;
  bytesPerSecondMax: number;
  /** Share of one processor core that catching up may use. */
  processorPercentMax: number;
  /** Samples measured before are not sent. */
  fromMs: EpochMs;
  /** Absent: OLDEST_FIRST. */
  backlogOrder?: BacklogOrder;
}

export interface TargetRecord {
  readonly id: string;
  readonly name: string;
  readonly kind: TargetKind;
  readonly isEnabled: boolean;
  readonly settings: TargetSettings;
  readonly secrets: TargetSecrets;
  readonly selection: Selection;
  readonly createdAtMs: EpochMs;
  readonly updatedAtMs: EpochMs;
}

export const contentsOf = ({ selection }: Pick<TargetRecord, 'selection'>): readonly Content[] =>
  selection.contents ?? ['TELEMETRY'];

/** The selected contents besides telemetry. */
export const recordContentsOf = (record: Pick<TargetRecord, 'selection'>): RecordContent[] =>
  contentsOf(record).filter((content) => content !== 'TELEMETRY');

export const backlogOrderOf = ({ selection }: Pick<TargetRecord, 'selection'>): BacklogOrder =>
  selection.backlogOrder ?? 'OLDEST_FIRST';

export const carriesTelemetry = (record: Pick<TargetRecord, 'selection'>): boolean =>
  contentsOf(record).includes('TELEMETRY');

/** Counted since the target was made. */
export interface Totals {
  samples: number;
  bytes: number;
  /** Samples that the history deleted before they were sent. */
  lostSamples: number;
  /** Samples that the target refuses, while it accepts others. */
  refusedSamples: number;
  /** Records besides telemetry that were sent. */
  records: number;
  /** Records that were deleted before they were sent. */
  lostRecords: number;
}

export const NO_TOTALS: Totals = {
  samples: 0,
  bytes: 0,
  lostSamples: 0,
  refusedSamples: 0,
  records: 0,
  lostRecords: 0,
};

/** DISABLED: a person switched it off. STARTING: nothing was sent yet. */
export const TARGET_STATES = ['DISABLED', 'STARTING', 'CURRENT', 'CATCHING_UP', 'FAILING'] as const;
type TargetState = (typeof TARGET_STATES)[number];

export interface TargetStatus extends Totals {
  state: TargetState;
  /** Age of the oldest unsent sample; 0 when none waits. */
  lagS: DurationS;
  lagSamples: number;
  /** Estimated from the size of the samples sent so far. */
  lagBytes: number;
  lagRecords: number;
  samplesPerS: number;
  bytesPerS: number;
  lastError: { message: string; atMs: EpochMs } | undefined;
  /** The last refusal of a part, since the gateway started. */
  lastRefusal?: { message: string; atMs: EpochMs } | undefined;
  lastSentAtMs: EpochMs | undefined;
  /** Absent when the target sends no commands. */
  commands?: CommandStatus | undefined;
}

/** Counted since the gateway started. */
export interface CommandStatus {
  isConnected: boolean;
  executed: number;
  refused: number;
  lastError: { message: string; atMs: EpochMs } | undefined;
}

export const NOTHING_DONE: TargetStatus = {
  ...NO_TOTALS,
  state: 'DISABLED',
  lagS: 0,
  lagSamples: 0,
  lagRecords: 0,
  lagBytes: 0,
  samplesPerS: 0,
  bytesPerS: 0,
  lastError: undefined,
  lastSentAtMs: undefined,
};

/** A target with its progress. */
export interface ListedTarget {
  record: TargetRecord;
  status: TargetStatus;
}

/** Labels of the samples of a device. */
export interface DeviceLabels {
  site: string;
  device: string;
  blueprint: string;
  profile: string | undefined;
}

/** Samples of one series to be sent, with the labels of their device. */
export interface LabelledSamples extends ChangedSamples {
  labels: DeviceLabels;
}

/** Result of one delivery. */
export interface Sent {
  samples: number;
  /** Bytes on the wire, without headers. */
  bytes: number;
  refusedSamples: number;
  /** Reason of the last refusal. */
  refusal: string | undefined;
}

export const nothingSent = (): Sent => ({ samples: 0, bytes: 0, refusedSamples: 0, refusal: undefined });

/** The target accepts nothing now, and sending is tried again; the message is a sentence for a person. */
export class TargetFailure extends Error {
  override name = 'TargetFailure';
  /** The target asked for this pause. */
  readonly retryAfterS: DurationS | undefined;
  /** The connection ended or could not be made: the target may have restarted. */
  readonly isConnectionLost: boolean;

  constructor(
    message: string,
    options: { cause?: unknown; retryAfterS?: DurationS | undefined; isConnectionLost?: boolean } = {},
  ) {
    super(message, { cause: options.cause });
    this.retryAfterS = options.retryAfterS;
    this.isConnectionLost = options.isConnectionLost ?? false;
  }
}

/** Waits for work at a server, broker or folder. @throws TargetFailure for failures of this class */
export async function asTargetFailure<Result>(
  Failure: new (...given: never[]) => Error,
  work: Promise<Result>,
  isConnectionLost = false,
): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    throw new TargetFailure(error.message, { cause: error, isConnectionLost });
  }
}

/** A position in the store. */
export interface Place {
  position: ChangePosition;
  records: RecordCursor;
}

/** An open target: accepts samples, and resolves only once the target has acknowledged them. */
export interface Sink {
  /**
   * Resolves once the target has acknowledged everything. `pace` is called with the bytes before each piece.
   * @throws TargetFailure when it did not; then everything is sent again
   */
  send(samples: readonly LabelledSamples[], pace: Pace, signal: AbortSignal): Promise<Sent>;
  /** The same for records, in the order of their numbers. @throws TargetFailure */
  sendRecords(records: readonly LabelledRecord[], pace: Pace, signal: AbortSignal): Promise<Sent>;
  /** Called instead of `send` while nothing waits, to keep descriptions and availability up to date. @throws TargetFailure */
  maintain?(): Promise<void>;
  /**
   * Only for a sink that gathers samples before it keeps them: called before the first `send`. `after` is the position up
   * to which samples were kept; the sink drops what it gathered beyond that. @throws TargetFailure
   */
  begin?(after: Place): Promise<void>;
  /**
   * True once everything sent since `begin` is acknowledged, false while it is still gathered; absent: `send` acknowledges.
   * @throws TargetFailure when it is lost and everything must be sent again
   */
  keep?(isLast: boolean): Promise<boolean>;
  /**
   * Number of new connections that no failure preceded: the target may have restarted in between and lost what it
   * acknowledged last. Absent when the target loses nothing.
   */
  readonly reconnects?: number;
  /** Sends one test sample. @throws TargetFailure when the target does not accept it */
  test(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Resolves when so many bytes may be sent. */
export type Pace = (bytes: number) => Promise<void>;
