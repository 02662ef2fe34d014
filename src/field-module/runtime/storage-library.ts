/** `storage`: texts that outlive restarts, kept by the gateway (docs/interface/lua-devices.md#storage). */
import { LIMITS } from '../../lib/limits.ts';
import { type HostFunction, type HostResult, type Library, bytesArgument, waiting } from '#scripting/lua';
import { isStorageKey, storageKeyOf } from '../../protocol/storage-key.ts';
import type { ChannelRequest } from '../control-channel.ts';
import { failedResult, resultOf, type ScriptHost } from './script-host.ts';

const SOURCE = String.raw`
local read, write, remove = kit.wait('storage_read'), kit.wait('storage_write'), kit.wait('storage_remove')
local INVALID_ARGUMENT = 3
local HINTS = {
  boolean = '; write tostring(value), and compare what is read with "true"',
  table = '; write json.encode(value), and read with json.decode',
}

local storage = kit.library('storage', {})

local function outcome(ok, message, code)
  if is_old then return code or 0 end
  return message
end

function storage.write(key, value)
  local kind = type(value)
  if kind == 'number' then
    value = tostring(value)
  elseif kind ~= 'string' then
    if is_old then return INVALID_ARGUMENT end
    -- As text it would come back as something else: "false" counts as true.
    error(format("bad argument #2 to 'write' (string expected, got %s)%s", kind, HINTS[kind] or ''), 2)
  end
  return outcome(write(key, value))
end

function storage.remove(key) return outcome(remove(key)) end

function storage.read(key)
  local value, message, code = read(key)
  -- Published scripts of the older generation take every other code for a fault.
  if is_old then return value, message == 'NotFound' and 0 or code or 0 end
  return value, message
end

if is_old then storage.err_to_str = kit.err_to_str end
`;

export function storageLibrary(isOld: boolean): Library {
  return { name: 'storage', source: `local is_old = ${isOld}\n${SOURCE}` };
}

const { storageKeyBytes, storageValueBytes } = LIMITS.module;
const CODES = { invalidArgument: 3, notFound: 6, internal: 7 } as const;

export function storageFunctions(host: ScriptHost): Record<string, HostFunction> {
  async function ask(key: string, request: ChannelRequest): Promise<HostResult> {
    if (!isStorageKey(key))
      return failedResult(`a key has 1 to ${storageKeyBytes} bytes`, CODES.invalidArgument);
    const result = await host.call({ kind: 'request', request, timeoutMs: undefined });
    if (result.kind !== 'answer' || result.answer.error !== undefined) return resultOf(result);
    if (request.type !== 'storage_read') return [true];
    const { value } = result.answer;
    return value === undefined ? failedResult('NotFound', CODES.notFound) : [Uint8Array.from(value)];
  }
  const { channelId } = host;
  return {
    storage_read: waiting(async ([name]) => {
      const key = storageKeyOf(bytesArgument(name, 1, 'read'));
      return ask(key, { type: 'storage_read', channel_id: channelId, key });
    }),
    storage_write: waiting(async ([name, content]) => {
      const key = storageKeyOf(bytesArgument(name, 1, 'write'));
      const value = bytesArgument(content, 2, 'write');
      if (value.length > storageValueBytes)
        return failedResult(`a value has at most ${storageValueBytes} bytes`, CODES.invalidArgument);
      return ask(key, { type: 'storage_write', channel_id: channelId, key, value });
    }),
    storage_remove: waiting(async ([name]) => {
      const key = storageKeyOf(bytesArgument(name, 1, 'remove'));
      return ask(key, { type: 'storage_remove', channel_id: channelId, key });
    }),
  };
}
