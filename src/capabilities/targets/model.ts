/** Targets: where the gateway carries its telemetry to. */
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

/** What `topic` is when nobody says it. */
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
  /** Absent or null: none come from there. */
  commands?: CommandSettings | null;
}

/** Whoever makes a target has these roles, too. */
export const COMMAND_LEVELS = ['READONLY', 'USER', 'OWNER'] as const;

/** Commands that come from a broker. */
export interface CommandSettings {
  /** Ids or slugs. */
  devices: string[];
  /** Role of whoever sends them. */
  level: (typeof COMMAND_LEVELS)[number];
  /** Template that knows {site}: requests come and answers go below. */
  topic: string;
  perMinute: number;
}

/** What became of a command from above; empty: it is not known yet. */
export interface RequestOutcome {
  executionId?: string;
  /** Why there is no execution. */
  errors?: readonly Problem[];
}

/** CSV files by day. */
export interface FolderSettings {
  kind: 'FOLDER';
  path: string;
  /** It was on another file system than the data when it was named: nothing is written below a stick that is missing. */
  isMount: boolean;
  /** What came in so much time is in one file of each day; until it has its name the store keeps it. */
  pieceMinutes: number;
  isCompressed: boolean;
}

export type TargetSettings = InfluxdbSettings | MqttSettings | FolderSettings;

/** Never read by anybody but the target itself. */
export interface TargetSecrets {
  /** Token or password. */
  secret?: string;
  /** Of the client's certificate. */
  privateKeyPem?: string;
}

/** What may be carried besides telemetry. */
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

/** Up to which number of each content that is wanted. */
export type RecordCursor = { [Content in RecordContent]?: number };

/** What one record says. */
export interface FoundRecord {
  /** Absent: of no device. */
  deviceId?: string;
  atMs: EpochMs;
  /** Few values, by which engines tell series apart. */
  tags: Readonly<Record<string, string>>;
  /** As the interface shows it. */
  body: object;
}

/** A record on its way; content and number name it, however often it is sent. */
export interface CarriedRecord extends FoundRecord {
  content: RecordContent;
  number: number;
}

/** With the device it is of; without one, only the site is known. */
export interface LabelledRecord extends CarriedRecord {
  labels: Pick<DeviceLabels, 'site'> & Partial<DeviceLabels>;
}

/** In which order what was missed is sent. */
export const BACKLOG_ORDERS = ['OLDEST_FIRST', 'NEWEST_FIRST'] as const;
type BacklogOrder = (typeof BACKLOG_ORDERS)[number];

/** What is carried, and how much at once. */
export interface Selection {
  /** Absent: telemetry. */
  contents?: readonly Content[];
  /** Ids or slugs; null: all. */
  devices: string[] | null;
  /** Names, `*` at the end for all that begin so; null: all. */
  attributes: string[] | null;
  /** At most one sample of a series in each stretch of so many seconds; 0: all. */
  intervalS: DurationS;
  /** Only samples that differ from the one before. */
  isOnChange: boolean;
  bytesPerSecondMax: number;
  /** Share of one processor that catching up may take here. */
  processorPercentMax: number;
  /** Samples measured before are not sent. */
  fromMs: EpochMs;
  /** Absent: the oldest first, so that all of it is in order. */
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

/** What is carried besides telemetry. */
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
  /** Samples that the history gave up before they were sent. */
  lostSamples: number;
  /** Lines that the target does not take, while it takes others. */
  refusedSamples: number;
  /** Of everything besides telemetry. */
  records: number;
  /** Records that were given up before they were sent. */
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

/** DISABLED: by a person. STARTING: nothing was tried yet. */
export const TARGET_STATES = ['DISABLED', 'STARTING', 'CURRENT', 'CATCHING_UP', 'FAILING'] as const;
type TargetState = (typeof TARGET_STATES)[number];

export interface TargetStatus extends Totals {
  state: TargetState;
  /** Since when the oldest sample waits that was not sent; 0: none does. */
  lagS: DurationS;
  lagSamples: number;
  /** By the size of what was sent so far. */
  lagBytes: number;
  lagRecords: number;
  samplesPerS: number;
  bytesPerS: number;
  lastError: { message: string; atMs: EpochMs } | undefined;
  /** Of what it does not take while it takes the rest; since the gateway started. */
  lastRefusal?: { message: string; atMs: EpochMs } | undefined;
  lastSentAtMs: EpochMs | undefined;
  /** Absent: none come from there. */
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

/** A target with how far it got. */
export interface ListedTarget {
  record: TargetRecord;
  status: TargetStatus;
}

/** What is known of a device beside its samples. */
export interface DeviceLabels {
  site: string;
  device: string;
  blueprint: string;
  profile: string | undefined;
}

/** Samples of one series that are to be sent, with the device they are of. */
export interface LabelledSamples extends ChangedSamples {
  labels: DeviceLabels;
}

/** What came of a piece of work. */
export interface Sent {
  samples: number;
  /** On the wire, headers left out. */
  bytes: number;
  refusedSamples: number;
  /** Why, of the last one refused. */
  refusal: string | undefined;
}

export const nothingSent = (): Sent => ({ samples: 0, bytes: 0, refusedSamples: 0, refusal: undefined });

/** The target does not take anything now; the message is a sentence for a person. Tried again. */
export class TargetFailure extends Error {
  override name = 'TargetFailure';
  /** The target asked for this pause. */
  readonly retryAfterS: DurationS | undefined;
  /** The connection ended or there was none: the target may have started again. */
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

/** Where something begins in the store. */
export interface Place {
  position: ChangePosition;
  records: RecordCursor;
}

/** One open target: takes samples, and says so only once it has them. */
export interface Sink {
  /**
   * Resolves once the target has acknowledged everything. `pace` is called with the bytes before each piece.
   * @throws TargetFailure when it did not; all of it is sent again then
   */
  send(samples: readonly LabelledSamples[], pace: Pace, signal: AbortSignal): Promise<Sent>;
  /** The same for records, in the order of their numbers. @throws TargetFailure */
  sendRecords(records: readonly LabelledRecord[], pace: Pace, signal: AbortSignal): Promise<Sent>;
  /** Called in the place of `send` while nothing waits: what stands beside the samples is kept right. @throws TargetFailure */
  maintain?(): Promise<void>;
  /**
   * Of one that gathers what it is sent: called before the first of it. `after` is where what was kept ends; what was
   * sent there before and not kept is forgotten. @throws TargetFailure
   */
  begin?(after: Place): Promise<void>;
  /**
   * True once all that was sent since `begin` is acknowledged, false while it is still gathered; absent: `send` does that.
   * @throws TargetFailure when it is lost, and all of it is to be sent again
   */
  keep?(isLast: boolean): Promise<boolean>;
  /**
   * How often it was reached by another connection than before, without a failure: it may have started again in between,
   * and have forgotten what it acknowledged last. Absent: it does not forget.
   */
  readonly reconnects?: number;
  /** Sends one line of its own, to see whether it is taken. @throws TargetFailure */
  test(signal: AbortSignal): Promise<void>;
  close(): void;
}

/** Resolves when so many bytes may be sent. */
export type Pace = (bytes: number) => Promise<void>;
