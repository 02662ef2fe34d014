/** `configuration` of the newer generation (docs/interface/lua-devices.md#configuration). */
import { type HostFunction, type Library, LuaJson, textArgument } from '#scripting/lua';
import { exactJson } from '../../lib/json.ts';
import { type ScriptHost } from './script-host.ts';

export const CONFIGURATION_LIBRARY: Library = {
  name: 'configuration',
  source: String.raw`
local configuration = kit.library('configuration', {})

function configuration.read(group) return host.configuration_read(group) end
function configuration.is_all_required_set(group) return host.configuration_is_set(group) end

local callbacks = {}

local function register(kind, group, fn)
  kit.check(group, 'string', 1, kind, 4)
  kit.check(fn, 'function', 2, kind, 4)
  callbacks[kind] = callbacks[kind] or {}
  callbacks[kind][group] = fn
end

local function called(kind, group) return callbacks[kind] and callbacks[kind][group] end

function configuration.after_write(group, fn) register('after_write', group, fn) end
function configuration.before_write(group, fn) register('before_write', group, fn) end
function configuration.on_write(group, fn) register('on_write', group, fn) end

function configuration.on_read(group, fn)
  register('on_read', group, fn)
  host.configuration_reads(group)
end

-- Values that on_write stored when it was asked about them are not stored again.
function kit.entries.configuration_changed(group, values, is_stored)
  local store = not is_stored and called('on_write', group)
  local message = store and store(values)
  if type(message) == 'string' then
    host.log(format('group %s is not stored in the device: %s', group, message), 'error', true)
  end
  local after = called('after_write', group)
  if after then after(values) end
end

function kit.entries.configuration_check(group, values)
  local before = called('before_write', group)
  local message = before and before(values)
  if type(message) == 'string' then return message end
  local store = called('on_write', group)
  message = store and store(values)
  if type(message) == 'string' then return message end
end

function kit.entries.configuration_read(group)
  local read = called('on_read', group)
  if not read then return end
  local values, message = read()
  if type(values) == 'table' then return values end
  host.log(format('group %s cannot be read from the device: %s', group, message), 'error', false)
end
`,
};

export function configurationFunctions(host: ScriptHost): Record<string, HostFunction> {
  const reads = new Set<string>();
  const groupOf = (name: string): Record<string, unknown> | undefined =>
    Object.hasOwn(host.groups(), name) ? host.groups()[name] : undefined;
  return {
    configuration_read: ([group]) => {
      const name = textArgument(group, 1, 'read');
      const values = groupOf(name);
      if (values === undefined) return [undefined, `unknown configuration group: ${name}`];
      return [new LuaJson(exactJson(values))];
    },
    configuration_reads: ([group]) => {
      reads.add(textArgument(group, 1, 'on_read'));
      host.reads([...reads]);
      return [];
    },
    configuration_is_set: ([group]) => {
      const name = textArgument(group, 1, 'is_all_required_set');
      const values = groupOf(name);
      if (values === undefined) return [false];
      const required = Object.hasOwn(host.facts.configuration, name) ? host.facts.configuration[name] : [];
      return [(required ?? []).every((parameter) => (values[parameter] ?? undefined) !== undefined)];
    },
  };
}
