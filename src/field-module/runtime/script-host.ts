/** The interface of a script's libraries to its host. */
import {
  type HostFunction,
  type HostResult,
  type Library,
  LuaJson,
  type LuaValue,
  numberArgumentOr,
  textArgument,
  textOf,
  waiting,
} from '#scripting/lua';
import { exactJson, parseExactJson } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochS, MonotonicMs } from '../../lib/time.ts';
import type { BlueprintFacts } from '../../protocol/module.ts';
import { noPort, portOfUri } from '../field/connection-uri.ts';
import type { IoKind } from '../field/index.ts';
import type {
  CallResult,
  ConfigurationGroups,
  DeviceLogEntry,
  Surroundings,
  ThreadCall,
} from '../thread-messages.ts';
import type { NoteExchange } from '../trace.ts';

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
  /** Takes what the script exchanges with its device; undefined while the device is not traced. */
  trace(): NoteExchange | undefined;
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

// `ucm`: commands of other devices of the site (docs/interface/lua-devices.md#other-devices).

export const PEER_LIBRARY: Library = {
  name: 'ucm',
  source: String.raw`
local execute, ucm = kit.wait('peer_command'), kit.library('ucm', {})
local new_object, address_of = kit.objects('the peer')
local methods = {}

function ucm.new(hardware_id, channel)
  if type(hardware_id) ~= 'string' then error("bad argument #1 to 'new' (string expected)", 2) end
  return new_object(methods, { hardware_id, channel })
end

function methods.execute_command(peer, name, args, options)
  local address = address_of(peer)
  return execute(address[1], address[2], name, args or {}, type(options) == 'table' and options.timeout or nil)
end
`,
};

const { peerMs, peerMsMax } = LIMITS.module;
const { argumentsBytes } = LIMITS.commands;
/** A name that the gateway would not drop silently (src/protocol/module.ts). */
const NAME = /^.{1,255}$/s;
const CHANNEL = /^[A-Za-z0-9_-]{1,64}$/;

export function peerFunctions(host: ScriptHost): Record<string, HostFunction> {
  return {
    peer_command: waiting(async ([target, targetChannel, name, args, timeout]) => {
      const wantedMs = numberArgumentOr(timeout, 3, 'execute_command', peerMs);
      const timeoutMs = Math.min(Math.max(wantedMs, 1), peerMsMax);
      const targetChannelId = textOf(targetChannel);
      const device = textArgument(target, 1, 'new');
      const command = textArgument(name, 1, 'execute_command');
      if (!NAME.test(device) || !NAME.test(command))
        return [undefined, undefined, 'a device and a command are named with 1 to 255 characters'];
      if (targetChannelId !== undefined && !CHANNEL.test(targetChannelId))
        return [undefined, undefined, 'a channel is named with 1 to 64 letters, digits, - and _'];
      if (args instanceof LuaJson && Buffer.byteLength(args.text) > argumentsBytes)
        return [undefined, undefined, `arguments have at most ${argumentsBytes} bytes`];
      const given = args instanceof LuaJson ? parseExactJson(args.text) : {};
      const result = await host.call({
        kind: 'request',
        timeoutMs,
        request: {
          type: 'command',
          channel_id: host.channelId,
          target: device,
          ...(targetChannelId === undefined ? {} : { target_channel_id: targetChannelId }),
          name: command,
          arguments: Array.isArray(given) ? {} : (given as Record<string, unknown>),
          timeout_ms: timeoutMs,
        },
      });
      if (result.kind !== 'answer') return [undefined, undefined, 'internal fault'];
      const { state, payload, error } = result.answer;
      if (error !== undefined || state === undefined)
        return [undefined, ...failedResult(error ?? 'no state', 7).slice(0, 2)];
      return [state, new LuaJson(exactJson(payload ?? {}))];
    }),
  };
}
