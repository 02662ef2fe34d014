/**
 * Libraries of hardware that a module of software does not have: they are there and refuse
 * (docs/interface/lua-devices.md#absent-libraries).
 */
import type { Library } from '../../../lua/index.ts';

const NEW_SOURCE = String.raw`
local host, kit = ...

local function absent(name, constants)
  local library = constants or {}
  function library.new() return nil, name .. ' is not supported by this module' end
  _G[name] = library
  kit.loaded[name] = library
end

absent('can', { DROP_OLDEST = 1, DROP_NEWEST = 2 })
absent('relay')
absent('digitalin', { LOW = 0, HIGH = 1 })
absent('digitalout', { LOW = 0, HIGH = 1 })
absent('analogin')
absent('analogout')

led = {}
kit.loaded.led = led
for _, name in ipairs({ 'on', 'off', 'blink' }) do
  led[name] = function() return 'led is not supported by this module' end
end
`;

/** `values`: functions that give a value before their code. */
const OLD_SOURCE = String.raw`
local host, kit = ...
local NOT_SUPPORTED = 5

local function absent(name, actions, values)
  local library = { err_to_str = kit.err_to_str }
  for _, action in ipairs(actions) do library[action] = function() return NOT_SUPPORTED end end
  for _, value in ipairs(values or {}) do library[value] = function() return nil, NOT_SUPPORTED end end
  _G[name] = library
  kit.loaded[name] = library
  return library
end

absent('can', { 'init', 'send' })
absent('rl6', { 'open', 'close', 'impulse', 'open_all', 'close_all', 'set_all' }, { 'get' })
absent('di7', { 'set_counter', 'set_debounce' }, { 'is_closed', 'is_opened' })
di7.read_counter = function() return nil, nil, NOT_SUPPORTED end
absent('ai4', {}, { 'read_volts', 'read_milliamps' })
absent('rl', { 'open', 'close', 'impulse' }, { 'is_closed' })
local dio = absent('dio', {})
dio.HIGH, dio.LOW = 1, 0
function dio.input() return nil, 'dio is not supported by this module' end
function dio.output() return 'dio is not supported by this module' end
`;

export function absentLibraries(isOld: boolean): Library {
  return { name: 'absent', source: isOld ? OLD_SOURCE : NEW_SOURCE };
}
