/** The bus CAN: `can` of either generation (docs/interface/lua-devices.md#can). */
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import {
  bytesArgument,
  type HostFunction,
  type HostResult,
  type Library,
  LuaError,
  type LuaValue,
  numberArgument,
  tableArgument,
  textOf,
  waiting,
} from '#scripting/lua';
import type { CanOperation } from '../thread-messages.ts';
import { portResult, resultOf, type ScriptHost } from './script-host.ts';

/** Frames come as identifier and hexadecimal text, because a table crosses as JSON. */
const FRAMES = String.raw`
local send, keep, take, drops = kit.wait('can_send'), kit.wait('can_keep'), kit.wait('can_take'), kit.wait('can_drops')

local function bytes_of(hex)
  return (gsub(hex, '%x%x', function(digits) return char(tonumber(digits, 16)) end))
end
`;

const NEW_SOURCE = `${FRAMES}${String.raw`
local DROP_OLDEST, DROP_NEWEST = 0, 1

local can = kit.library('can', { DROP_OLDEST = DROP_OLDEST, DROP_NEWEST = DROP_NEWEST })
local object, state_of = kit.objects('it')
local client_methods, monitor_methods, queue_methods = {}, {}, {}

function can.new(uri)
  local name, message = host.can_port(uri)
  if not name then return nil, message end
  return object(client_methods, { port = name })
end

function client_methods.send(client, id, data)
  local _, message = send(state_of(client).port, id, data)
  return message
end

local function mailbox(client, methods, ids, size, policy)
  local port = state_of(client).port
  local number = host.can_mailbox()
  local ok, message = keep(port, number, ids, size, policy == DROP_NEWEST and 'newest' or 'oldest')
  if not ok then return nil, message end
  return object(methods, { port = port, number = number })
end

function client_methods.monitor(client, ids)
  return mailbox(client, monitor_methods, ids, 1, DROP_OLDEST)
end

function client_methods.queue(client, ids, size, policy)
  return mailbox(client, queue_methods, ids, size, policy)
end

function monitor_methods.pop(monitor, ids)
  local state = state_of(monitor)
  local rows, message = take(state.port, state.number, ids)
  if not rows then return nil, message end
  local values = {}
  for index, frames in ipairs(rows) do
    if frames[1] then values[index] = bytes_of(frames[1][2]) end
  end
  return values
end

function queue_methods.pop(queue, id)
  local state = state_of(queue)
  local rows, message = take(state.port, state.number, { id })
  if not rows then return nil, message end
  local values = {}
  for index, frame in ipairs(rows[1]) do values[index] = bytes_of(frame[2]) end
  return values
end

function queue_methods.drops_count(queue, id)
  local state = state_of(queue)
  return drops(state.port, state.number, id)
end
`}`;

const OLD_SOURCE = `${FRAMES}${String.raw`
local add = scheduler.add
-- How often the handler gets what has come.
local PERIOD_MS = 50
local INVALID_ARGUMENT, NOT_SUPPORTED = 3, 5

local can = kit.library('can', { err_to_str = kit.err_to_str })
local port = host.can_only_port()
local handler, number
local frames, position = {}, 1

local function hand_over()
  if position > #frames then
    local rows = take(port, number)
    frames, position = rows and rows[1] or {}, 1
  end
  while position <= #frames do
    local frame = frames[position]
    -- First, so that a handler that raises gets the next one next time.
    position = position + 1
    handler(frame[1], bytes_of(frame[2]))
  end
end

-- The bit rate is the system's to set.
function can.init(_, on_frame)
  if not port then return NOT_SUPPORTED end
  if on_frame ~= nil and type(on_frame) ~= 'function' then return INVALID_ARGUMENT end
  if on_frame and not number then
    number = host.can_mailbox()
    local ok, _, code = keep(port, number)
    if not ok then
      number = nil
      return code
    end
    add(PERIOD_MS, hand_over)
  end
  handler = on_frame or handler
  return 0
end

function can.send(id, data)
  if not port then return NOT_SUPPORTED end
  local _, _, code = send(port, id, data)
  return code or 0
end
`}`;

export function canLibrary(isOld: boolean): Library {
  return { name: 'can', source: isOld ? OLD_SOURCE : NEW_SOURCE };
}

export function canFunctions(host: ScriptHost, limits: Limits['field']): Record<string, HostFunction> {
  let mailboxes = 0;
  const run = async (
    port: LuaValue,
    operation: CanOperation,
    deadlineMs?: MonotonicMs,
  ): Promise<HostResult> =>
    resultOf(await host.call({ kind: 'can', port: String(textOf(port)), operation }, deadlineMs));
  const isCan = (name: string): boolean => host.ioPorts.get(name) === 'can';

  return {
    can_port: ([uri]) => portResult(uri, 'CAN ports', (name) => (isCan(name) ? name : undefined)),
    // The older generation names no port: the one of the usual name, else the first there is.
    can_only_port: () => [isCan('can') ? 'can' : [...host.ioPorts.keys()].find(isCan)],
    can_mailbox: () => [BigInt((mailboxes += 1))],
    can_send: waiting(async ([port, identifier, bytes], deadlineMs) => {
      const id = numberArgument(identifier, 1, 'send');
      const data = Uint8Array.from(bytesArgument(bytes, 2, 'send'));
      return run(port, { do: 'send', id, data }, deadlineMs);
    }),
    can_keep: waiting(async ([port, mailbox, ids, size, drops]) => {
      const sizeMax = ids === undefined ? limits.canRowFrames : numberArgument(size, 2, 'queue');
      if (!(sizeMax >= 1)) throw new LuaError("bad argument #2 to 'queue' (size must be positive)");
      return run(port, {
        do: 'keep',
        mailbox: numberArgument(mailbox, 1, 'queue'),
        ids: idsArgument(ids, 'queue'),
        sizeMax: Math.floor(sizeMax),
        drops: textOf(drops) === 'newest' ? 'newest' : 'oldest',
      });
    }),
    can_take: waiting(async ([port, mailbox, ids]) =>
      run(port, {
        do: 'take',
        mailbox: numberArgument(mailbox, 1, 'pop'),
        ids: idsArgument(ids, 'pop'),
      }),
    ),
    can_drops: waiting(async ([port, mailbox, id]) =>
      run(port, {
        do: 'drops',
        mailbox: numberArgument(mailbox, 1, 'drops_count'),
        id: numberArgument(id, 1, 'drops_count'),
      }),
    ),
  };
}

/** Undefined: all of them. @throws LuaError when it is no list of numbers */
function idsArgument(value: LuaValue, name: string): number[] | undefined {
  if (value === undefined) return undefined;
  const list = tableArgument(value, 1, name);
  const ids: unknown[] = Array.isArray(list) ? list : Object.values(list as object);
  if (ids.some((id) => typeof id !== 'number'))
    throw new LuaError(`bad argument #1 to '${name}' (list of identifiers expected)`);
  return ids as number[];
}
