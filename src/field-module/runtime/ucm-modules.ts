/**
 * Lua modules that scripts require without bringing them (docs/interface/lua-devices.md#several-files), written for
 * this runtime.
 */

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
  if values == nil then return false end
  for name, option in pairs(declared) do
    if option.required and values[name] == nil then return false end
  end
  return true
end

-- Every option has a value, required or not.
function config.is_all_options_set(values)
  for name in pairs(declared) do
    if values[name] == nil then return false end
  end
  return true
end

local function with_defaults(args)
  local values = {}
  for name, option in pairs(declared) do
    local value = args[name]
    if value == nil then value = option.default end
    values[name] = value
  end
  return values
end

local function write_all(ctx, args)
  for name, option in pairs(declared) do
    if option.required and args[name] == nil then ctx.error('required parameter is missing: ' .. name) end
  end
  if callbacks.before_write then
    local message = callbacks.before_write(with_defaults(args))
    if message then ctx.error('before write: ' .. tostring(message)) end
  end
  for name in pairs(declared) do
    local message = config.write(name, args[name])
    if message then ctx.error(message) end
  end
  if callbacks.after_write then
    local message = callbacks.after_write(with_defaults(args))
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

local function failure(code)
  return { errcode = code, errmsg = modbus.err_to_str(code) }
end

function qmodbus.read(queries)
  local results = {}
  for index, query in ipairs(queries) do
    local read = modbus['read_' .. tostring(query.type)]
    if not read then return nil, 'unknown type: ' .. tostring(query.type) end
    local data, code = read(query.addr, query.reg, query.count, query.timeout or 1000)
    results[index] = data and { data = data } or failure(code)
  end
  return results
end

function qmodbus.write(queries)
  local results = {}
  for index, query in ipairs(queries) do
    local write = modbus['write_' .. tostring(query.type)]
    if not write then return nil, 'unknown type: ' .. tostring(query.type) end
    local code = write(query.addr, query.reg, query.values or query.value, query.timeout or 1000)
    results[index] = code == 0 and {} or failure(code)
  end
  return results
end

return qmodbus
`;

const GENERIC = String.raw`
-- A contact, an input or a bus of another device, by the commands that its generic blueprint answers on this channel.
local CHANNEL = 'gio'
local Peer = {}
Peer.__index = Peer

local function new() return setmetatable({}, Peer) end

function Peer:aim(id, timeout)
  self.peer = type(id) == 'string' and ucm.new(id, CHANNEL) or nil
  self.timeout = timeout or 1000
end

function Peer:ask(name, args)
  if not self.peer then return nil, 'the other device is not set up' end
  local state, payload, message = self.peer:execute_command(name, args, { timeout = self.timeout })
  if message then return nil, message end
  if state == 'completed' then return payload end
  return nil, 'the command ' .. name .. ' failed: ' .. tostring(payload and payload.message or state)
end

function Peer:ask_whether_closed(name, args)
  local payload, message = self:ask(name, args)
  if not payload then return nil, message end
  if type(payload.closed) ~= 'boolean' then return nil, 'the answer to ' .. name .. ' does not say it' end
  return payload.closed
end
`;

const RL6 = `${GENERIC}
function Peer:setup(id, channel, timeout)
  self:aim(id, timeout)
  self.channel = math.tointeger(channel)
end
function Peer:open()
  local _, message = self:ask('open_channel', { channel = self.channel })
  return message
end
function Peer:close()
  local _, message = self:ask('close_channel', { channel = self.channel })
  return message
end
function Peer:is_closed() return self:ask_whether_closed('is_channel_closed', { channel = self.channel }) end
return { new = new }
`;

const DI7 = `${GENERIC}
function Peer:setup(id, input, timeout)
  self:aim(id, timeout)
  self.input = math.tointeger(input)
end
function Peer:is_closed() return self:ask_whether_closed('is_closed', { input = self.input }) end
return { new = new }
`;

const CAN = `${GENERIC}
-- Messages of a bus under names: each is { msg_id, parser, name | names, multi_msg }. The other device keeps what comes
-- for identifiers that were asked for; the cursor of the last answer tells it what was read.

local function identifiers(messages)
  local texts = {}
  for _, message in ipairs(messages) do
    if message.msg_id then texts[#texts + 1] = tostring(message.msg_id) end
  end
  return table.concat(texts, ',')
end

function Peer:read(name)
  local subscription = self.subscriptions and self.subscriptions[name]
  if not subscription then return nil, nil, 'there is no subscription ' .. tostring(name) end
  local args = { msg_ids = identifiers(subscription.messages), cursor = subscription.cursor }
  local payload, message = self:ask('read', args)
  return payload, subscription, message
end

-- Announces every subscription; answers the first thing that went wrong.
function Peer:setup(id, subscriptions, timeout)
  self:aim(id, timeout)
  self.subscriptions = {}
  local fault
  for name, messages in pairs(subscriptions) do
    self.subscriptions[name] = { messages = messages }
    local _, _, message = self:read(name)
    fault = fault or message
  end
  return fault
end

local function put(values, message, parsed)
  if message.name ~= nil then
    values[message.name] = parsed
    return
  end
  for index, name in ipairs(message.names or {}) do values[name] = parsed[index] end
end

-- What came since the last call, by the names of the messages.
function Peer:get(name)
  local payload, subscription, message = self:read(name)
  if not payload then return nil, message end
  subscription.cursor = payload.cursor
  local values = {}
  for index, wanted in ipairs(subscription.messages) do
    local received = payload.results and payload.results[index]
    if received and #received > 0 then
      local ok, parsed = pcall(wanted.parser, wanted.multi_msg and received or received[#received])
      if not ok then
        return nil, 'message ' .. tostring(wanted.msg_id) .. ' cannot be read: ' .. tostring(parsed)
      end
      put(values, wanted, parsed)
    end
  end
  return values
end
return { new = new }
`;

const SMA = String.raw`
-- Registers of SMA devices over Modbus TCP: integers with the high word first, some of which mean that there is no value,
-- with a fixed number of decimals.
local Device = {}
Device.__index = Device

local KINDS = {
  u32 = { words = 2, format = '>I4', none = { [0xFFFFFFFF] = true, [0x00FFFFFD] = true } },
  s32 = { words = 2, format = '>i4', none = { [-0x80000000] = true } },
  u64 = { words = 4, format = '>I8', none = { [-1] = true } },
}

function Device.new(address, unit_id)
  assert(type(address) == 'string', 'the address must be a string')
  assert(type(unit_id) == 'number', 'the unit must be a number')
  return setmetatable({ address = address, unit_id = unit_id }, Device)
end

function Device:connect()
  if modbustcp then
    self.modbus = modbustcp.new(self.address)
  else
    self.modbus = modbus.new('tcp://' .. self.address)
  end
end

function Device:read_holdings(address, count)
  if not self.modbus then
    enapter.log('read error: not connected to ' .. self.address, 'error')
    return nil
  end
  local words, failure = self.modbus:read_holdings(self.unit_id, address, count, 1000)
  if words then return words end
  if type(failure) == 'number' and modbustcp then failure = modbustcp.err_to_str(failure) end
  enapter.log('read error: ' .. tostring(failure), 'error')
  return nil
end

for name, kind in pairs(KINDS) do
  local function read(device, address)
    local words = device:read_holdings(address, kind.words)
    if not words then return nil end
    local bytes = {}
    for index = 1, kind.words do bytes[index] = string.pack('>I2', words[index]) end
    local value = string.unpack(kind.format, table.concat(bytes))
    -- Nil and not nothing: scripts hand it to functions that want a value.
    if kind.none[value] then return nil end
    return value
  end
  Device['read_' .. name], Device['read_' .. name .. '_fix0'] = read, read
  for decimals = 1, 3 do
    Device['read_' .. name .. '_fix' .. decimals] = function(device, address)
      local value = read(device, address)
      return value and value / 10 ^ decimals
    end
  end
end
Device.read_u32_enum = Device.read_u32

return Device
`;

/** Source of a module that the runtime brings, by its name. */
export const UCM_MODULES: ReadonlyMap<string, string> = new Map([
  ['enapter.ucm.config', CONFIG],
  ['enapter.ucm.qmodbus', QMODBUS],
  ['enapter.ucm.generics.rl6', RL6],
  ['enapter.ucm.generics.di7', DI7],
  ['enapter.ucm.generics.can', CAN],
  ['enapter.sma.modbustcp', SMA],
]);
