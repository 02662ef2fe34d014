/** What goes between the module's main thread, which owns all wires, and the threads that run scripts. */
import type { DurationMs } from '../../lib/time.ts';
import type { BlueprintFacts, FromModule, ToModule } from '../../protocol/module.ts';
import type { Answer, ChannelRequest } from './control-channel.ts';
import type { IoKind, ModbusRequest, Quantity, SerialSettings } from './field/index.ts';

/** All groups of a device, as the gateway gives them. */
export type ConfigurationGroups = Record<string, Record<string, unknown>>;

export interface ScriptStart {
  channelId: string;
  script: Uint8Array;
  facts: BlueprintFacts;
  groups: ConfigurationGroups;
  /** Device file of each serial port by its name. */
  ports: Readonly<Record<string, string>>;
  /** What kind of port each other name stands for. */
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
  /** Before it was given; at most, where that is not known. */
  waitedMs: DurationMs;
}

/** What the gateway asks a script about its configuration, and what it is answered. */
export type Question = ToModule & { type: 'configuration_check' | 'configuration_read' };
export type QuestionAnswer = FromModule & { type: 'configuration_verdict' | 'configuration_values' };

export type ScriptOrder =
  | ({ kind: 'command' } & GivenCommand)
  /** `changed`: groups whose callbacks run. */
  | { kind: 'configuration'; groups: ConfigurationGroups; changed: readonly string[] }
  | { kind: 'question'; question: Question };

/** What is the same for every script. */
export interface Surroundings {
  /** The link to the broker, as scripts are told. */
  isConnected: boolean;
  /** The link keeps up; else nothing can be sent. */
  hasRoom: boolean;
  /** Else values go without a time of their own, and get that of their receipt. */
  isClockBelieved: boolean;
  timeZone: string;
  /** Silence after which the gateway ends an execution. */
  commandMs: DurationMs;
}

export type FailureReason = 'error' | 'syntax' | 'time' | 'memory';

export interface DeviceLogEntry {
  message: string;
  severity: 'debug' | 'info' | 'warning' | 'error';
  persist: boolean;
}

/** What a script says to a command, as the gateway gets it. */
export interface CommandResponse {
  id: string;
  /** The command has ended with it. */
  isLast: boolean;
  text: string;
}

export type ScriptEvent =
  /** The entry of the script has ended well; jobs and handlers live. */
  | { kind: 'running' }
  /** The script is over. */
  | { kind: 'failed'; reason: FailureReason; message: string }
  | { kind: 'publish'; subject: 'telemetry' | 'properties'; text: string }
  | ({ kind: 'log' } & DeviceLogEntry)
  | ({ kind: 'response' } & CommandResponse)
  | { kind: 'answer'; answer: QuestionAnswer }
  /** Groups whose values the script reads from the device. */
  | { kind: 'reads'; groups: readonly string[] };

/** What only the main thread can do. */
export type ThreadCall = AskedOfMain & {
  /** So long whoever asks waits for it, from now on; absent: until it is done or the script is over. */
  remainingMs?: DurationMs;
};

type AskedOfMain =
  | { kind: 'modbus'; uri: string; unitId: number; request: ModbusRequest; timeoutMs: DurationMs | undefined }
  | { kind: 'serial'; port: string; operation: SerialOperation }
  | { kind: 'can'; port: string; operation: CanOperation }
  | { kind: 'io'; port: string; operation: IoOperation }
  | { kind: 'request'; request: ChannelRequest; timeoutMs: DurationMs | undefined };

export type SerialOperation =
  | { do: 'read'; countMax: number; timeoutMs: DurationMs }
  /** What arrives first, up to a silence. */
  | { do: 'receive'; timeoutMs: DurationMs }
  | { do: 'write'; bytes: Uint8Array }
  | { do: 'flush' }
  | { do: 'configure'; settings: SerialSettings }
  /** Has the port to itself until it releases it or ends. */
  | { do: 'acquire' }
  | { do: 'release' };

export type CanOperation =
  | { do: 'send'; id: number; data: Uint8Array }
  /** Keeps what comes in a mailbox of this number. `ids` undefined: everything, in one row. */
  | {
      do: 'keep';
      mailbox: number;
      ids: readonly number[] | undefined;
      sizeMax: number;
      drops: 'oldest' | 'newest';
    }
  /** A table of the frames of each identifier, oldest first; without identifiers the row of all. */
  | { do: 'take'; mailbox: number; ids: readonly number[] | undefined }
  /** How many gave way since the last time. */
  | { do: 'drops'; mailbox: number; id: number };

export type IoOperation =
  | { do: 'is_closed' }
  | { do: 'read_counter' }
  | { do: 'set_counter'; count: number }
  | { do: 'is_on' }
  | { do: 'set'; isOn: boolean }
  | { do: 'impulse'; durationMs: DurationMs }
  | { do: 'measure'; quantity: Quantity };

/** A frame in a table for a script: identifier, and bytes as hexadecimal text. */
export type WireFrame = [id: number, hex: string];

/** A fault in the words and numbers of the device API. */
export interface CallFault {
  text: string;
  number: number;
}

export type CallResult =
  | { kind: 'values'; values: readonly number[] }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'done' }
  /** One or several results, each a number, a boolean or what becomes a table. */
  | { kind: 'results'; results: readonly (number | boolean | object)[] }
  | { kind: 'answer'; answer: Answer }
  | { kind: 'fault'; fault: CallFault };
