/** Lua modules that scripts require without bringing them (lua-device-api.md section 5), written for this runtime. */

const CONFIG = String.raw`
-- Configuration by commands, as scripts of the older spec have it; values live in the storage as text.
local config = {}
local declared, callbacks = {}, {}

local function text_of(failure)
  if failure == nil or failure == 0 then return nil end
  if type(failure) == 'number' then return storage.err_to_str(failure) end
  return failure
end

local function fetch(name)
  local value, failure = storage.read(name)
  if value ~= nil then return value end
  local message = text_of(failure)
  if message == nil or message == 'NotFound' then return nil end
  return nil, message
end

local function decode(kind, text)
  if text == nil then return nil end
  if kind == 'number' then
    local number = tonumber(text)
    return number and math.tointeger(number) or number
  end
  if kind == 'boolean' then return text == 'true' end
  return text
end

function config.read(name)
  local option = declared[name]
  if not option then return nil, 'undeclared config option: ' .. tostring(name) end
  local text, message = fetch(name)
  if message then return nil, 'cannot read config option ' .. name .. ': ' .. message end
  local value = decode(option.type, text)
  if value == nil then return option.default end
  return value
end

function config.read_all()
  local values = {}
  for name in pairs(declared) do
    local value, message = config.read(name)
    if message then return nil, message end
    values[name] = value
  end
  return values
end

function config.write(name, value)
  local option = declared[name]
  if not option then return 'undeclared config option: ' .. tostring(name) end
  local failure
  if value == nil then failure = storage.remove(name) else failure = storage.write(name, tostring(value)) end
  local message = text_of(failure)
  if message == 'NotFound' then message = nil end
  return message and 'cannot write config option ' .. name .. ': ' .. message
end

function config.is_all_required_set()
  local values = config.read_all()
  return values ~= nil and config.is_all_options_set(values)
end

function config.is_all_options_set(values)
  for name, option in pairs(declared) do
    if option.required and values[name] == nil then return false end
  end
  return true
end

local function write_all(ctx, args)
  if callbacks.before_write then
    local message = callbacks.before_write(args)
    if message then ctx.error('before write: ' .. tostring(message)) end
  end
  for name, option in pairs(declared) do
    local value = args[name]
    if option.required and value == nil then ctx.error('required parameter is missing: ' .. name) end
  end
  for name in pairs(declared) do
    local message = config.write(name, args[name])
    if message then ctx.error(message) end
  end
  if callbacks.after_write then
    local message = callbacks.after_write(args)
    if message then ctx.error('after write: ' .. tostring(message)) end
  end
end

function config.init(options, given)
  assert(next(declared) == nil, 'config can be initialized only once')
  callbacks = given or {}
  for name, option in pairs(options) do
    assert(type(name) == 'string' and #name <= 15, 'name of a config option is longer than 15 characters')
    declared[name] = { type = option.type, default = option.default, required = option.required }
  end
  enapter.register_command_handler('write_configuration', write_all)
  enapter.register_command_handler('read_configuration', function(ctx)
    local values, message = config.read_all()
    if message then ctx.error(message) end
    return values
  end)
end

return config
`;

const QMODBUS = String.raw`
-- Batches over the functions of the global table.
local qmodbus = {}

local READS = {
  coils = 'read_coils', discrete_inputs = 'read_discrete_inputs', holdings = 'read_holdings', inputs = 'read_inputs',
}
local WRITES = {
  coil = 'write_coil', holding = 'write_holding', multiple_coils = 'write_multiple_coils',
  multiple_holdings = 'write_multiple_holdings',
}

local function failure(code)
  return { errcode = code, errmsg = modbus.err_to_str(code) }
end

function qmodbus.read(queries)
  local results = {}
  for index, query in ipairs(queries) do
    local kind = READS[query.type]
    if not kind then return nil, 'unknown type: ' .. tostring(query.type) end
    local data, code = modbus[kind](query.addr, query.reg, query.count, query.timeout or 1000)
    results[index] = data and { data = data } or failure(code)
  end
  return results
end

function qmodbus.write(queries)
  local results = {}
  for index, query in ipairs(queries) do
    local kind = WRITES[query.type]
    if not kind then return nil, 'unknown type: ' .. tostring(query.type) end
    local code = modbus[kind](query.addr, query.reg, query.values or query.value, query.timeout or 1000)
    results[index] = code == 0 and {} or failure(code)
  end
  return results
end

return qmodbus
`;

const GENERIC = String.raw`
-- Hardware of another device, by its commands.
local Peer = {}
Peer.__index = Peer

local function new() return setmetatable({}, Peer) end

function Peer:setup(id, channel, timeout)
  self.peer = ucm.new(id, channel)
  self.timeout = timeout or 1000
end

function Peer:run(name, args)
  if not self.peer then return nil, 'setup was not called' end
  local state, payload, message = self.peer:execute_command(name, args, { timeout = self.timeout })
  if message then return nil, message end
  if state ~= 'completed' then return nil, payload and payload.message or 'the command failed' end
  return payload
end
`;

const RL6 = `${GENERIC}
function Peer:open(channel) local _, message = self:run('open', { ch = channel }); return message end
function Peer:close(channel) local _, message = self:run('close', { ch = channel }); return message end
function Peer:is_closed(channel)
  local payload, message = self:run('is_closed', { ch = channel })
  if not payload then return nil, message end
  return payload.closed
end
return { new = new }
`;

const DI7 = `${GENERIC}
function Peer:is_closed(channel)
  local payload, message = self:run('is_closed', { ch = channel })
  if not payload then return nil, message end
  return payload.closed
end
return { new = new }
`;

const CAN = `${GENERIC}
function Peer:get(name)
  local payload, message = self:run('read', { name = name })
  if not payload then return nil, message end
  return payload.results
end
return { new = new }
`;

/** Source of a module that the runtime brings, by its name. */
export const UCM_MODULES: ReadonlyMap<string, string> = new Map([
  ['enapter.ucm.config', CONFIG],
  ['enapter.ucm.qmodbus', QMODBUS],
  ['enapter.ucm.generics.rl6', RL6],
  ['enapter.ucm.generics.di7', DI7],
  ['enapter.ucm.generics.can', CAN],
]);
