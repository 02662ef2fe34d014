/** `enapter`: properties, telemetry, logs, commands, the link (docs/interface/lua-devices.md). */
import { type HostFunction, jsonOf, type Library, LuaError, LuaJson, textOf } from '#scripting/lua';
import { exceptionText } from '../field/modbus-fault.ts';
import { severityOf } from '../../protocol/device-log.ts';
import { failedResult, type ScriptHost } from './script-host.ts';

/** For both generations: `is_old` is a local of the chunk. */
const SOURCE = String.raw`
local globals, check, enapter = _G, kit.check, kit.library('enapter', {})
runtime_version = is_old and 'v1' or 'v3'

-- Values are handed over one by one, so that one that cannot be sent does not keep back the others.

local function send(subject, name, data)
  check(data, 'table', 1, name)
  host.message_begin()
  for key, value in next, data do
    if type(key) == 'string' then
      local ok, message = pcall(host.message_put, key, value)
      if not ok then host.message_drop(key, message) end
    end
  end
  local _, message, code = host.message_send(subject)
  if is_old then return code or 0 end
  return message
end

function enapter.send_telemetry(data) return send('telemetry', 'send_telemetry', data) end
function enapter.send_properties(data) return send('properties', 'send_properties', data) end

function enapter.log(text, severity, persist)
  host.log(tostring(text), type(severity) == 'string' and severity or 'info', persist and true or false)
end

-- Commands.

local handlers = {}

function enapter.register_command_handler(name, handler)
  check(handler, 'function', 2, 'register_command_handler')
  handlers[tostring(name)] = handler
end

local refused = setmetatable({}, { __tostring = function() return 'the command has ended' end })

function kit.entries.command(id, name, args)
  local handler = handlers[name]
  if not handler then return host.command_error(id, 'command handler not implemented') end
  local ctx = {}
  function ctx.error(message)
    host.command_error(id, tostring(message))
    error(refused, 0)
  end
  function ctx.log(message) host.command_log(id, tostring(message)) end
  return handler(ctx, args)
end

-- The link to the gateway.

local listener

function enapter.on_connection_status_changed(fn)
  if fn ~= nil then check(fn, 'function', 1, 'on_connection_status_changed') end
  listener = fn
end
function enapter.get_connection_status() return host.is_connected() end

function kit.entries.connection(is_connected)
  if listener then listener(is_connected) end
end

function kit.entries.main()
  local main = rawget(globals.enapter, 'main')
  if type(main) == 'function' then main() end
end

-- Numbers of the older generation.

function kit.err_to_str(code)
  local number = type(code) == 'number' and tointeger(code)
  return number and host.fault_text(number) or format('error %s', tostring(code))
end
if is_old then enapter.err_to_str = kit.err_to_str end
`;

export function enapterLibrary(isOld: boolean): Library {
  return { name: 'enapter', source: `local is_old = ${isOld}\n${SOURCE}` };
}

/** Types whose value is a list, so that an empty table is one too. */
const LISTS: ReadonlySet<string> = new Set(['alerts', 'array_of_strings']);
const EMPTY = '{}';

export function enapterFunctions(host: ScriptHost): Record<string, HostFunction> {
  let parts: [name: string, text: string][] = [];
  const typeOf = (name: string): string | undefined =>
    name === 'alerts' ? name : (host.facts.telemetry[name] ?? host.facts.properties[name]);

  return {
    message_begin: () => void (parts = []),
    message_put: ([name, value]) => {
      const key = textOf(name) ?? '';
      const text = jsonOf(value);
      const isList = value instanceof LuaJson && text === EMPTY && LISTS.has(typeOf(key) ?? '');
      parts.push([key, isList ? '[]' : text]);
    },
    message_drop: ([name, message]) => {
      const why = textOf(message) ?? 'it is no value';
      host.log({
        message: `${textOf(name)} is not sent: ${why.replace(/^\[host\]:\d+: /, '')}`,
        severity: 'warning',
        persist: false,
      });
    },
    message_send: ([subject]) => {
      const isTelemetry = textOf(subject) === 'telemetry';
      const { isConnected, hasRoom, isClockBelieved } = host.surroundings();
      if (!isConnected) return failedResult('not connected', 2);
      if (!hasRoom) return failedResult('the gateway does not keep up', 2);
      if (isClockBelieved && !parts.some(([name]) => name === 'timestamp'))
        parts.push(['timestamp', String(host.epochS())]);
      const text = `{${parts.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`;
      parts = [];
      if (Buffer.byteLength(text) > host.messageBytes)
        return failedResult(`a message has at most ${host.messageBytes} bytes`, 3);
      if (host.publish(isTelemetry ? 'telemetry' : 'properties', text)) return [true];
      return failedResult('too many messages', 2);
    },
    log: ([text, severity, persist]) =>
      host.log({
        message: textOf(text) ?? '',
        severity: severityOf(textOf(severity)),
        persist: persist === true,
      }),
    fault_text: ([code]) => [typeof code === 'bigint' ? faultTextOf(code) : undefined],
    is_connected: () => [host.surroundings().isConnected],
    command_error: ([id, message]) => host.respond(idOf(id), 'error', messageText(message)),
    command_log: ([id, message]) => host.respond(idOf(id), 'log', messageText(message)),
  };
}

/** By the numbers of the older generation. */
const FAULT_TEXTS = [
  '',
  'timeout',
  'connection failed',
  'invalid argument',
  'invalid response',
  'not supported',
  'NotFound',
  'InternalError',
];

function faultTextOf(code: bigint): string | undefined {
  return code > 100n ? exceptionText(code - 100n) : FAULT_TEXTS[Number(code)];
}

function idOf(value: Parameters<typeof textOf>[0]): string {
  const id = textOf(value);
  if (id === undefined) throw new LuaError('a command has no id');
  return id;
}

function messageText(value: Parameters<typeof textOf>[0]): string {
  return JSON.stringify({ message: textOf(value) ?? '' });
}
