/** `ucm`: commands of other devices of the site (docs/interface/lua-devices.md#other-devices). */
import { LIMITS } from '../../lib/limits.ts';
import {
  type HostFunction,
  type Library,
  LuaJson,
  numberArgumentOr,
  textOf,
  textArgument,
  waiting,
} from '#scripting/lua';
import { exactJson, parseExactJson } from '../../lib/json.ts';
import { failedResult, type ScriptHost } from './script-host.ts';

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
/** What the gateway would drop without an answer (src/protocol/module.ts). */
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
