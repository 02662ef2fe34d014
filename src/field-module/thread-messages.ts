/** Messages between the module's main thread, which owns all connections and ports, and the threads that run scripts. */
import { exactJson } from '../lib/json.ts';
import type { DurationMs } from '../lib/time.ts';
import type { LogSeverity } from '../protocol/device-log.ts';
import type { BlueprintFacts, FromModule, ToModule } from '../protocol/module.ts';
import type { Answer, ChannelRequest } from './control-channel.ts';
import type { IoKind, ModbusRequest, Quantity, ScriptFault, SerialSettings } from './field/index.ts';
import type { Exchange } from './trace.ts';

/** All groups of a device, as the gateway gives them. */
export type ConfigurationGroups = Record<string, Record<string, unknown>>;

export interface ScriptStart {
  channelId: string;
  script: Uint8Array;
  facts: BlueprintFacts;
  groups: ConfigurationGroups;
  /** Device file of each serial port by its name. */
  ports: Readonly<Record<string, string>>;
  /** Kind of every other port by its name. */
  ioPorts: Readonly<Record<string, IoKind>>;
}

export interface DeviceTypes {
  script: ScriptStart;
  order: ScriptOrder;
  shared: Surroundings;
  event: ScriptEvent;
  request: ThreadCall;
  answer: CallResult;
}

export interface GivenCommand {
  id: string;
  name: string;
  argumentsText: string;
  /** How long it has waited already; the longest possible wait where that is not known. */
  waitedMs: DurationMs;
}

/** Questions of the gateway to a script about its configuration, and their answers. */
export type Question = ToModule & { type: 'configuration_check' | 'configuration_read' };
export type QuestionAnswer = FromModule & { type: 'configuration_verdict' | 'configuration_values' };

export type ScriptOrder =
  | ({ kind: 'command' } & GivenCommand)
  /** `changed`: groups whose callbacks run. */
  | { kind: 'configuration'; groups: ConfigurationGroups; changed: readonly string[] }
  | { kind: 'question'; question: Question };

/** State that is the same for every script. */
export interface Surroundings {
  /** Whether the broker is connected, as scripts see it. */
  isConnected: boolean;
  /** Whether the link keeps up; otherwise nothing can be sent. */
  hasRoom: boolean;
  /** If false, values carry no time, and the time of their receipt counts. */
  isClockBelieved: boolean;
  timeZone: string;
  /** Time without a response after which the gateway ends an execution. */
  commandMs: DurationMs;
  /** Channels of the devices whose exchanges are traced. */
  traced: readonly string[];
}

export type FailureReason = 'error' | 'syntax' | 'time' | 'memory';

export interface DeviceLogEntry {
  message: string;
  severity: LogSeverity;
  persist: boolean;
}

/** A response of a script to a command, as the gateway gets it. */
export interface CommandResponse {
  id: string;
  /** It is the last response to the command. */
  isLast: boolean;
  text: string;
}

export type ScriptEvent =
  /** The entry of the script has ended well; its jobs and handlers go on. */
  | { kind: 'running' }
  /** The script is over. */
  | { kind: 'failed'; reason: FailureReason; message: string }
  /** An exchange of a device that is traced. */
  | { kind: 'exchange'; exchange: Exchange }
  | { kind: 'publish'; subject: 'telemetry' | 'properties'; text: string }
  | ({ kind: 'log' } & DeviceLogEntry)
  | ({ kind: 'response' } & CommandResponse)
  | { kind: 'answer'; answer: QuestionAnswer }
  /** Groups whose values the script reads from the device. */
  | { kind: 'reads'; groups: readonly string[] };

/** A call that only the main thread can carry out. */
export type ThreadCall = AskedOfMain & {
  /** How long the caller waits from now on; absent: until it is done or the script is over. */
  remainingMs?: DurationMs;
};

type AskedOfMain =
  | { kind: 'modbus'; uri: string; unitId: number; request: ModbusRequest; timeoutMs: DurationMs | undefined }
  /** Asks a device what it is. */
  | { kind: 'identify'; uri: string; unitId: number; timeoutMs: DurationMs | undefined }
  /** `task`: the call of the script that asks, which may have the port to itself. */
  | { kind: 'serial'; port: string; operation: SerialOperation; task?: number }
  | { kind: 'can'; port: string; operation: CanOperation }
  | { kind: 'io'; port: string; operation: IoOperation }
  | { kind: 'mqtt'; operation: MqttOperation }
  | { kind: 'request'; request: ChannelRequest; timeoutMs: DurationMs | undefined };

export type SerialOperation =
  | { do: 'read'; countMax: number; timeoutMs: DurationMs }
  /** Reads the bytes that arrive next, up to a pause. */
  | { do: 'receive'; timeoutMs: DurationMs }
  | { do: 'write'; bytes: Uint8Array }
  | { do: 'flush' }
  | { do: 'configure'; settings: SerialSettings }
  /** Has the port to itself until it releases it or ends. */
  | { do: 'acquire' }
  | { do: 'release' };

export type CanOperation =
  | { do: 'send'; id: number; data: Uint8Array }
  /** Keeps received frames in the mailbox of this number. `ids` undefined: all frames, in one row. */
  | {
      do: 'keep';
      mailbox: number;
      ids: readonly number[] | undefined;
      sizeMax: number;
      drops: 'oldest' | 'newest';
    }
  /** Takes the frames of each identifier, oldest first; without identifiers the row of all frames. */
  | { do: 'take'; mailbox: number; ids: readonly number[] | undefined }
  /** How many frames were dropped since the last question. */
  | { do: 'drops'; mailbox: number; id: number };

export type IoOperation =
  | { do: 'is_closed' }
  | { do: 'read_counter' }
  /** Its debounce time in milliseconds. */
  | { do: 'debounce' }
  | { do: 'set_counter'; count: number }
  | { do: 'is_on' }
  | { do: 'set'; isOn: boolean }
  | { do: 'impulse'; durationMs: DurationMs }
  | { do: 'measure'; quantity: Quantity };

/** In place of a URI: the broker of the gateway, with the credentials of the module. */
export const GATEWAY_BROKER = 'gateway';

/** A broker and how a client lets itself in; scripts with the same choice share a connection. */
export interface BrokerChoice {
  uri: string;
  user?: string | undefined;
  password?: string | undefined;
  /** Authorities that are trusted instead of those of the system. */
  caPem?: string | undefined;
  /** The certificate is not checked. */
  isInsecure?: boolean;
  clientId?: string | undefined;
  will?: { topic: string; payload: string; isRetained: boolean } | undefined;
}

/** `client`: the number that `open` gave. */
export type MqttOperation =
  | { do: 'open'; choice: BrokerChoice }
  | { do: 'subscribe'; client: number; filter: string }
  | { do: 'unsubscribe'; client: number; filter: string }
  | {
      do: 'publish';
      client: number;
      topic: string;
      payload: Uint8Array;
      qos: 0 | 1;
      isRetained: boolean;
    }
  | { do: 'latest'; client: number; topic: string }
  /** Waits for the next messages of all filters. */
  | { do: 'take'; client: number }
  | { do: 'is_connected' | 'close'; client: number };

/** A frame in a table for a script: identifier, and bytes as hexadecimal text. */
export type WireFrame = [id: number, hex: string];

export type CallResult =
  | { kind: 'values'; values: readonly number[] }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'done' }
  /** One or several results, each a number, a boolean or a table. */
  | { kind: 'results'; results: readonly (number | boolean | object)[] }
  | { kind: 'answer'; answer: Answer }
  | {
      kind: 'messages';
      messages: readonly { topic: string; payload: Uint8Array; isRetained: boolean }[];
      /** Since the last messages. */
      dropped: number;
    }
  | { kind: 'latest'; payload: Uint8Array; ageMs: DurationMs }
  | { kind: 'fault'; fault: ScriptFault };

// Configuration values as JSON has them, and the answer to a question about them. Pure.

/** The same text for the same values; the order of parameters means nothing. */
export function canonicalValues(values: Record<string, unknown> | undefined): string {
  return exactJson(values === undefined ? [] : Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Without an answer of a script, values are written without its judgement, and stored values count. */
export function noAnswer({ type, id }: Question): QuestionAnswer {
  return { type: type === 'configuration_check' ? 'configuration_verdict' : 'configuration_values', id };
}
