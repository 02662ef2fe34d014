/** Contacts and analogue channels of the board (docs/interface/lua-devices.md#contacts-and-channels). */
import type { MonotonicMs } from '../../lib/time.ts';
import {
  type HostFunction,
  type HostResult,
  type Library,
  type LuaValue,
  numberArgument,
  textOf,
  waiting,
} from '#scripting/lua';
import { noPort } from '../field/connection-uri.ts';
import type { IoOperation } from '../thread-messages.ts';
import { failedResult, portResult, resultOf, type ScriptHost } from './script-host.ts';

const HOST = String.raw`
local is_closed, is_on, switch = kit.wait('io_is_closed'), kit.wait('io_is_on'), kit.wait('io_set')
local impulse, measure = kit.wait('io_impulse'), kit.wait('io_measure')
local read_counter, set_counter = kit.wait('io_read_counter'), kit.wait('io_set_counter')
local debounce = kit.wait('io_debounce')
`;

const NEW_SOURCE = `${HOST}${String.raw`
local new_object, port_of = kit.objects('the port')

local function library(name, kind, methods, constants)
  kit.library(name, constants or {}).new = function(uri)
    local port, message = host.io_port(uri, kind)
    if not port then return nil, message end
    return new_object(methods, port)
  end
end

local LOW, HIGH = 0, 1
local function message_of(_, message) return message end
local function level(is_high, message)
  if message then return nil, message end
  return is_high and HIGH or LOW
end

local relay_methods = {}
function relay_methods.open(relay) return message_of(switch(port_of(relay), false)) end
function relay_methods.close(relay) return message_of(switch(port_of(relay), true)) end
function relay_methods.impulse(relay, duration) return message_of(impulse(port_of(relay), duration)) end
function relay_methods.is_closed(relay)
  local closed, message = is_on(port_of(relay))
  return closed or false, message
end
library('relay', 'digital_output', relay_methods)

local out_methods = {}
function out_methods.set_state(out, state) return message_of(switch(port_of(out), state == HIGH)) end
function out_methods.get_state(out) return level(is_on(port_of(out))) end
library('digitalout', 'digital_output', out_methods, { LOW = LOW, HIGH = HIGH })

local in_methods = {}
function in_methods.get_state(input) return level(is_closed(port_of(input))) end
function in_methods.read_counter(input)
  local count, message = read_counter(port_of(input))
  if not count then return nil, message end
  return count
end
function in_methods.reset_counter(input) return message_of(set_counter(port_of(input), 0)) end
library('digitalin', 'digital_input', in_methods, { LOW = LOW, HIGH = HIGH })

local analog_methods = {}
for name, quantity in pairs({ get_volts = 'voltage', get_amps = 'current', get_temperature = 'temperature' }) do
  analog_methods[name] = function(input)
    local value, message = measure(port_of(input), quantity)
    return value, message
  end
end
library('analogin', 'analog_input', analog_methods)
`}`;

/** Ports are called by what they are and their number, as on the hardware that these scripts were written for. */
const OLD_SOURCE = `${HOST}${String.raw`
local function library(name) return kit.library(name, { err_to_str = kit.err_to_str }) end

local function whole(id) return tointeger(id) or id end
local function input(id) return 'di-' .. tostring(whole(id)) end
local function output(id) return 'rl-' .. tostring(whole(id)) end
local function channel(id) return 'ai-' .. tostring(whole(id)) end
local function outcome(_, _, code) return code or 0 end

local function state(value, _, code)
  if code then return nil, code end
  return value, 0
end

local rl6 = library('rl6')
local RELAYS = 6
function rl6.get(id) return state(is_on(output(id))) end
function rl6.open(id) return outcome(switch(output(id), false)) end
function rl6.close(id) return outcome(switch(output(id), true)) end
function rl6.impulse(id, duration) return outcome(impulse(output(id), duration or 1000)) end

-- All of them are tried; the first fault is told.
local function set_all(states)
  local first = 0
  for id = 1, RELAYS do
    local code = outcome(switch(output(id), states[id]))
    if first == 0 then first = code end
  end
  return first
end

function rl6.open_all() return set_all({ false, false, false, false, false, false }) end
function rl6.close_all() return set_all({ true, true, true, true, true, true }) end
function rl6.set_all(...)
  local given, states = { ... }, {}
  for id = 1, RELAYS do states[id] = given[id] and true or false end
  return set_all(states)
end

local rl = library('rl')
function rl.is_closed() return (is_on(output(1))) or false end
-- Nothing is success here.
local function silent(_, _, code) return code end
function rl.open() return silent(switch(output(1), false)) end
function rl.close() return silent(switch(output(1), true)) end
function rl.impulse(duration) return silent(impulse(output(1), duration or 1000)) end

local di7 = library('di7')
local INPUTS = 7
function di7.is_closed(id) return state(is_closed(input(id))) end
function di7.is_opened(id)
  local closed, _, code = is_closed(input(id))
  if code then return nil, code end
  return not closed, 0
end
function di7.read_counter(id)
  local count, seconds, code = read_counter(input(id))
  if not count then return nil, nil, code end
  return count, seconds, 0
end
function di7.set_counter(id, count) return outcome(set_counter(input(id), count)) end
-- Each input has a debounce time of its own: the wish is met where all of them have this one.
function di7.set_debounce(duration)
  local result = 5
  for id = 1, INPUTS do
    local own = debounce(input(id))
    if own and own ~= tonumber(duration) then return 5 end
    if own then result = 0 end
  end
  return result
end

local ai4 = library('ai4')
function ai4.read_volts(id) return state(measure(channel(id), 'voltage')) end
-- In A, whatever its name says.
function ai4.read_milliamps(id) return state(measure(channel(id), 'current')) end

local dio = library('dio')
dio.HIGH, dio.LOW = 1, 0
function dio.input(id)
  local closed, message, code = is_closed(type(id) == 'string' and id or input(id))
  if code then return nil, message end
  return closed and dio.HIGH or dio.LOW
end
function dio.output(id, level)
  local _, message = switch(type(id) == 'string' and id or output(id), level == dio.HIGH)
  return message
end
`}`;

export function ioLibrary(isOld: boolean): Library {
  return { name: 'io', source: isOld ? OLD_SOURCE : NEW_SOURCE };
}

const QUANTITIES = ['voltage', 'current', 'temperature'] as const;

export function ioFunctions(host: ScriptHost): Record<string, HostFunction> {
  const run = async (
    port: LuaValue,
    operation: IoOperation,
    deadlineMs?: MonotonicMs,
  ): Promise<HostResult> => {
    const name = String(textOf(port));
    if (!host.ioPorts.has(name)) return failedResult(noPort(name), 5);
    return resultOf(await host.call({ kind: 'io', port: name, operation }, deadlineMs));
  };

  return {
    io_port: ([uri, kind]) =>
      portResult(uri, 'ports', (name) =>
        [name, secondName(name)].find((known) => host.ioPorts.get(known) === textOf(kind)),
      ),
    io_is_closed: waiting(([port]) => run(port, { do: 'is_closed' })),
    io_is_on: waiting(([port]) => run(port, { do: 'is_on' })),
    io_set: waiting(([port, isOn], deadlineMs) => run(port, { do: 'set', isOn: isOn === true }, deadlineMs)),
    io_impulse: waiting(async ([port, duration], deadlineMs) => {
      const durationMs = Math.max(1, numberArgument(duration, 1, 'impulse'));
      return run(port, { do: 'impulse', durationMs }, deadlineMs);
    }),
    io_read_counter: waiting(([port]) => run(port, { do: 'read_counter' })),
    io_set_counter: waiting(async ([port, count]) =>
      run(port, { do: 'set_counter', count: Math.trunc(numberArgument(count, 2, 'set_counter')) }),
    ),
    io_debounce: waiting(([port]) => run(port, { do: 'debounce' })),
    io_measure: waiting(async ([port, wanted]) => {
      const word = textOf(wanted);
      const quantity = QUANTITIES.find((known) => known === word) ?? 'voltage';
      return run(port, { do: 'measure', quantity });
    }),
  };
}

/** Published blueprints call the relay outputs of a board `rl-1` or `do-1`. */
function secondName(name: string): string {
  return name.replace(/^(rl|do)-(?=\d+$)/, (start) => (start === 'rl-' ? 'do-' : 'rl-'));
}
