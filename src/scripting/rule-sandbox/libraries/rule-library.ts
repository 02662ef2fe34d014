/** `enapter`, devices, `storage`, `time` and the constants of rules (docs/interface/lua-rules.md#devices), in Lua. */
import type { Library } from '#scripting/lua';

const AGGREGATES = String.raw`
local units = { s = 1000, m = 60000, h = 3600000, d = 86400000 }

local function interval_ms(interval)
  local number, unit
  if type(interval) == 'string' then number, unit = match(interval, '^(%d+%.?%d*)([smhd])$') end
  if not number then return nil, format('bad interval "%s"', tostring(interval)) end
  return tonumber(number) * units[unit]
end

return {
  aggregate = function(id, kind, name, interval)
    kit.check(name, 'string', 1, kind)
    local window_ms, message = interval_ms(interval)
    if not window_ms then return nil, message end
    return kit.ask('aggregate', { deviceId = id, name = name, kind = kind, windowMs = window_ms })
  end,
}
`;

const COMMANDS = String.raw`
local function execute(id, name, arguments, options)
  kit.check(name, 'string', 1, 'execute_command')
  if arguments ~= nil then kit.check(arguments, 'table', 2, 'execute_command') end
  if options ~= nil then kit.check(options, 'table', 3, 'execute_command') end
  local timeout_ms
  if options and options.timeout ~= nil then
    timeout_ms = host.duration(options.timeout)
    if not timeout_ms then return nil, format('bad timeout "%s"', tostring(options.timeout)) end
  end
  local ok, fault = pcall(host.json_encode, { arguments })
  if not ok then return nil, fault end
  return kit.ask('execute', { deviceId = id, name = name, arguments = arguments or {}, timeoutMs = timeout_ms,
    ephemeral = (options and options.ephemeral) == true })
end

return { execute = execute }
`;

/** A device is given as an object, or by id or slug. */
const OUTPUTS = String.raw`
local ask, check, outputs = kit.ask, kit.check, {}

local function id_of(device, what)
  if type(device) == 'table' and type(device.id) == 'string' then return device.id end
  check(device, 'string', 1, what)
  local found, message = kit.device(device)
  return found and found.id, message
end

function outputs.request(device, name, arguments, options)
  local id, message = id_of(device, 'request')
  if not id then return nil, message end
  check(name, 'string', 2, 'request')
  if arguments ~= nil then check(arguments, 'table', 3, 'request') end
  if options ~= nil then check(options, 'table', 4, 'request') end
  local ok, fault = pcall(host.json_encode, { arguments, options })
  if not ok then return nil, fault end
  return ask('output_request', { deviceId = id, name = name, arguments = arguments, options = options or {} })
end

function outputs.release(device, name, options)
  local id, message = id_of(device, 'release')
  if not id then return nil, message end
  check(name, 'string', 2, 'release')
  if options ~= nil then check(options, 'table', 3, 'release') end
  local _, fault = ask('output_release', { deviceId = id, name = name, output = options and options.output })
  return fault == nil and true or nil, fault
end

return outputs
`;

/** A refused message is in the log of the rule, because few scripts look at what is returned. */
const NOTIFICATIONS = String.raw`
local function notify(title, text, severity)
  kit.check(title, 'string', 1, 'notify')
  text = text == nil and '' or tostring(text)
  severity = severity == nil and 'info' or tostring(severity)
  local fault = host.notification_fault(title, text, severity)
  if not fault then
    local _
    _, fault = kit.ask('notify', { title = title, text = text, severity = severity })
    if not fault then return true end
  end
  host.log_refusal(format('notify "%s" was refused: %s', title, fault))
  return nil, fault
end

return { notify = notify }
`;

/** Values are kept as JSON. */
const STORAGE = String.raw`
local ask, check, storage = kit.ask, kit.check, {}

function storage.write(kind, key, value)
  check(key, 'string', 1, 'write')
  if value == nil then error("bad argument #2 to 'write' (value expected)", 2) end
  local ok, text = pcall(host.json_encode, value)
  if not ok then return text end
  local message = host.storage_fault(key, text)
  if message then return message end
  local _, failure = ask('storage_write', { store = kind, key = host.storage_key(key), value = text })
  return failure
end

function storage.read(kind, key)
  check(key, 'string', 1, 'read')
  local text, message = ask('storage_read', { store = kind, key = host.storage_key(key) })
  if text == nil then return nil, message end
  return host.json_decode(text)
end

function storage.remove(kind, key)
  check(key, 'string', 1, 'remove')
  local _, failure = ask('storage_remove', { store = kind, key = host.storage_key(key) })
  return failure
end

return storage
`;

/** Time of day in the site's zone. */
const DAYTIME = String.raw`
local function minutes_of(text, position)
  local hour, minute
  if type(text) == 'string' then hour, minute = match(text, '^(%d%d?):(%d%d)$') end
  hour, minute = tonumber(hour), tonumber(minute)
  if not hour or hour > 24 or minute > 59 or hour * 60 + minute > 1440 then
    error(format("bad argument #%d to 'is_now_between' (time of day expected, as \"08:30\")", position), 3)
  end
  return hour * 60 + minute
end

local function is_now_between(from, to, offset)
  local first, last = minutes_of(from, 1), minutes_of(to, 2)
  local ahead = tonumber(offset or host.zone_offset())
  -- A number that is not finite has no remainder.
  if not ahead or ahead % 1 ~= ahead % 1 then
    error("bad argument #3 to 'is_now_between' (seconds expected)", 2)
  end
  local now = (host.now() + floor(ahead)) % 86400 / 60
  if first == last then return false end
  if first < last then return now >= first and now < last end
  return now >= first or now < last
end

return { is_now_between = is_now_between }
`;

/**
 * Both runtimes have the same functions; what differs between them is at the end. A call with a colon works
 * too: a first argument that is the owning table is dropped.
 */
export const RULE_LIBRARY: Library = {
  name: 'rule',
  parts: {
    aggregates: AGGREGATES,
    commands: COMMANDS,
    outputs: OUTPUTS,
    notifications: NOTIFICATIONS,
    storage: STORAGE,
    daytime: DAYTIME,
  },
  source: String.raw`
local globals, check = _G, kit.check
local ask, read, watch = kit.wait('ask'), kit.wait('read'), kit.wait('watch')
kit.ask = ask

local function member(owner, name, body)
  owner[name] = function(first, ...)
    if rawequal(first, owner) then return body(...) end
    return body(first, ...)
  end
end

local enapter = kit.library('enapter', {})

member(enapter, 'log', function(text, severity)
  host.log(tostring(text), type(severity) == 'string' and severity or 'info')
end)

-- Devices. Every function asks anew, so a device object may be kept for ever. Scripts make one whenever they look at a
-- device: functions are made once for all objects of a device, as long as there is one.

local owners, functions_by_id = setmetatable({}, { __mode = 'k' }), setmetatable({}, { __mode = 'v' })

local function shared(functions, name, body)
  functions[name] = function(first, ...)
    if owners[first] == functions then return body(...) end
    return body(first, ...)
  end
end

local function telemetry_functions(id)
  local telemetry = {}

  shared(telemetry, 'now', function(name, options)
    check(name, 'string', 1, 'now')
    local relevance = options
    if type(options) == 'table' then relevance = options.relevance_interval end
    local relevance_ms
    if relevance ~= nil then
      relevance_ms = host.duration(relevance)
      if not relevance_ms then return nil, format('bad relevance interval "%s"', tostring(relevance)) end
    end
    local value, message = read('latest', id, name, relevance_ms)
    if message then return nil, message end
    return value
  end)

  for _, kind in ipairs({ 'avg', 'min', 'max' }) do
    shared(telemetry, kind, function(...) return kit.part('aggregates').aggregate(id, kind, ...) end)
  end

  -- Runs body(value, timestamp) with every newer value; a job like those of the scheduler.
  shared(telemetry, 'on_update', function(name, body)
    check(name, 'string', 1, 'on_update')
    return kit.job(watch, body, 2, 'on_update', id, 'telemetry', name)
  end)

  return telemetry
end

local function device_functions(id)
  local device = { telemetry = telemetry_functions(id) }

  shared(device, 'online', function()
    local online, message = read('device_online', id)
    if online == nil then return false, message end
    return online
  end)

  shared(device, 'implements', function()
    local profiles, message = read('device_profiles', id)
    if not profiles then return nil, message end
    for _, profile in ipairs(profiles) do profiles[profile] = true end
    return profiles
  end)

  shared(device, 'property', function(name)
    check(name, 'string', 1, 'property')
    local value, message = read('property', id, name)
    if value == nil then return nil, message or format('property "%s" has no value', name) end
    return value
  end)

  local function execute(...) return kit.part('commands').execute(id, ...) end
  shared(device, 'execute_command', execute)
  shared(device, 'execute', execute)

  shared(device, 'on_online_changed', function(body)
    return kit.job(watch, body, 1, 'on_online_changed', id, 'connectivity')
  end)

  functions_by_id[id] = device
  return device
end

local function device_of(facts)
  local id = facts.id
  local functions = functions_by_id[id] or device_functions(id)
  local of_telemetry = functions.telemetry
  local telemetry = {
    now = of_telemetry.now, avg = of_telemetry.avg, min = of_telemetry.min, max = of_telemetry.max,
    on_update = of_telemetry.on_update,
  }
  local device = {
    id = id, slug = facts.slug, name = facts.name, type = facts.type,
    online = functions.online, implements = functions.implements, property = functions.property,
    execute_command = functions.execute_command, execute = functions.execute,
    on_online_changed = functions.on_online_changed, telemetry = telemetry,
  }
  owners[device], owners[telemetry] = functions, of_telemetry
  return device
end

local finish = function(device) return device end

member(enapter, 'device', function(id)
  check(id, 'string', 1, 'device')
  local facts, message = read('find_device', id)
  if not facts then return nil, message end
  return finish(device_of(facts), id)
end)

kit.device = enapter.device

member(enapter, 'devices', function()
  local list, message = ask('list_devices', {})
  if not list then return nil, message end
  local devices = {}
  for index, facts in ipairs(list) do devices[index] = finish(device_of(facts)) end
  return devices
end)

local function store_of(kind)
  local store = {}
  for _, name in ipairs({ 'write', 'read', 'remove' }) do
    member(store, name, function(...) return kit.part('storage')[name](kind, ...) end)
  end
  return store
end

kit.later(kit.library('time', {}), 'daytime', 'is_now_between')

-- What differs between the runtimes. Runs before the script.

function kit.entries.prepare(version, id)
  globals.RULE_ID = id
  if version == 'V3' then
    globals.runtime_version = 'v3'
    setmetatable(globals, { __index = function(_, name)
      if name == 'TIMEZONE' then return host.zone_offset() end
    end })
    local storage = kit.library('storage', store_of('rule'))
    storage.namespaced, storage.shared = storage, store_of('shared')
    kit.later(kit.library('output', {}), 'outputs', 'request', 'release')
    kit.later(globals, 'notifications', 'notify')
  else
    globals.runtime_version = 'v1'
    globals.TIMEZONE = host.zone_offset()
    globals.scheduler = nil
    kit.library('storage', {
      namespaced = store_of('rule'), shared = store_of('shared'), public = store_of('public'),
    })
    finish = function(device, given)
      device.properties = ask('properties', { deviceId = device.id }) or {}
      device.id = given or device.id
      device.telemetry.on_update, device.on_online_changed = nil, nil
      return device
    end
  end
end

function kit.entries.main()
  local main = globals.enapter.main
  if type(main) == 'function' then main() end
end
`,
};
