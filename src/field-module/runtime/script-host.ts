/** The interface of a script's libraries to its host. */
import type { EpochS, MonotonicMs } from '../../lib/time.ts';
import { type HostResult, LuaJson, type LuaValue, textArgument } from '#scripting/lua';
import { noPort, portOfUri } from '../field/connection-uri.ts';
import type { IoKind } from '../field/index.ts';
import type { BlueprintFacts } from '../../protocol/module.ts';
import type {
  CallResult,
  ConfigurationGroups,
  DeviceLogEntry,
  Surroundings,
  ThreadCall,
} from '../thread-messages.ts';

export interface ScriptHost {
  readonly channelId: string;
  readonly facts: BlueprintFacts;
  groups(): ConfigurationGroups;
  surroundings(): Surroundings;
  readonly ports: ReadonlyMap<string, string>;
  /** Kind of each port that is no serial line. */
  readonly ioPorts: ReadonlyMap<string, IoKind>;
  /** Size limit of one message. */
  readonly messageBytes: number;
  epochS(): EpochS;
  /** Carried out on the main thread, unless its turn comes after the deadline. Never rejects. */
  call(request: ThreadCall, deadlineMs?: MonotonicMs): Promise<CallResult>;
  /** Runs a function of a library as a callback of the script; resolves when it has ended, well or badly. */
  run(entry: string, values: HostResult): Promise<void>;
  /** False: the device sends too many messages. */
  publish(subject: 'telemetry' | 'properties', text: string): boolean;
  log(entry: DeviceLogEntry): void;
  /** The script reads the values of these configuration groups from the device. */
  reads(groups: readonly string[]): void;
  /** Sends a response to the running command. */
  respond(id: string, state: 'log' | 'error', payloadText: string): void;
}

/** Results of a host function whose first value is missing: nothing, what went wrong, its number. */
export function failedResult(text: string, number: number): HostResult {
  return [undefined, text, BigInt(number)];
}

/**
 * The name of the port that a script means with `port://name`.
 * @param kinds what such ports are called, for the message
 * @param find the name under which the module has it; undefined: it has none of that kind
 */
export function portResult(
  uri: LuaValue,
  kinds: string,
  find: (name: string) => string | undefined,
): HostResult {
  const name = portOfUri(textArgument(uri, 1, 'new').trim());
  if (name === undefined) return failedResult(`${kinds} are called port://name`, 3);
  const port = find(name);
  return port === undefined ? failedResult(noPort(name), 5) : [port];
}

/** The results of a call on the main thread, as a script gets them. */
export function resultOf(result: CallResult): HostResult {
  switch (result.kind) {
    case 'values':
      return [new LuaJson(JSON.stringify(result.values))];
    case 'bytes':
      return [result.bytes];
    case 'done':
    case 'messages':
      return [true];
    case 'latest':
      return [Uint8Array.from(result.payload), BigInt(Math.round(result.ageMs))];
    case 'results':
      return result.results.map((value) =>
        typeof value === 'object' ? new LuaJson(JSON.stringify(value)) : valueOf(value),
      );
    case 'fault':
      return failedResult(result.fault.text, result.fault.number);
    case 'answer':
      return result.answer.error === undefined ? [true] : failedResult(result.answer.error, 7);
  }
}

/** Whole numbers are integers in Lua. */
function valueOf(value: number | boolean): number | bigint | boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
}
