-- Shared by all strategies: how they read, command and remember.

local FRESH_S = 45 -- an older value counts as none; with a look every 10 s, outputs are safe within a minute
local REPEAT_S = 300 -- an accepted command is sent again after this time, for devices that forget
local RETRY_S = 10 -- a refused command is tried again after this time

-- Kept over restarts: what is on, and moments by name.
local state = storage.read('state') or {}

local function keep(name, value)
  if state[name] == value then return end
  state[name] = value
  storage.write('state', state)
end

-- Seconds since the moment of this name; endless if there was none.
local function elapsed(name)
  local now = os.time()
  if not state[name] then return math.huge end
  -- The clock was put back.
  if state[name] > now then keep(name, now) end
  return now - state[name]
end

-- The value of an attribute in the unit of the parameter; nil without a fresh one.
local function read(input, fresh_s)
  local device = input and enapter.device(input.device)
  local value = device and device.telemetry.now(input.attribute, ('%ds'):format(fresh_s or FRESH_S))
  if type(value) ~= 'number' then return nil end
  return value * input.factor
end

-- After a start, values get some time to arrive before their absence counts.
local function is_starting()
  return system.uptime() < FRESH_S
end

-- Since when something is so, by name; emptied where it has to be so anew.
local since = {}

local function lasts(name, is_so, hold_s)
  since[name] = is_so and (since[name] or system.uptime()) or nil
  return is_so and system.uptime() - since[name] >= hold_s
end

local outputs = {}

-- Brings an output to a value by a command, unless the device has accepted the same value lately.
local function set(output, value, action, argument_value)
  local last = outputs[output] or {}
  local pause_s = last.fault and RETRY_S or REPEAT_S
  if last.value == value and system.uptime() - last.at < pause_s then return not last.fault end
  local arguments = {}
  for name, given in pairs(action.arguments) do arguments[name] = given end
  if action.argument then
    local most = math.min(argument_value, action.max or argument_value)
    arguments[action.argument] = math.max(most, action.min or most)
  end
  local device, fault = enapter.device(action.device)
  if device then
    local _, refusal = device.execute_command(action.command, arguments)
    fault = refusal
  end
  if fault and fault ~= last.fault then
    enapter.log(('%s %s: %s'):format(output, value, fault), 'error')
  elseif not fault and (last.value ~= value or last.fault) then
    enapter.log(('%s %s'):format(output, value))
  end
  outputs[output] = { value = value, at = system.uptime(), fault = fault }
  return not fault
end

-- Calls `look` with every new value of the inputs, which is its argument, and every 10 s for inputs that fall silent.
-- Returns what looks once more, at once.
local function follow(look, inputs)
  local busy_at
  local function once(new_value)
    -- A command waits for its device; meanwhile nothing is decided twice.
    if busy_at and system.uptime() - busy_at < 12 then return end
    busy_at = system.uptime()
    look(new_value)
    busy_at = nil
  end
  for _, input in pairs(inputs) do
    local device = enapter.device(input.device)
    if device then device.telemetry.on_update(input.attribute, once) end
  end
  scheduler.add(10000, once)
  once()
  return once
end
