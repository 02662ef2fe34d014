-- Shared by all strategies: how they read, command and remember.

local FRESH_S = 45 -- an older value counts as none; with a look every 10 s, outputs are safe within a minute

-- Kept over restarts: what is on, and moments by name.
local state = storage.read('state') or {}

local function keep(name, value) -- true: it is another value than before
  if state[name] == value then return false end
  state[name] = value
  storage.write('state', state)
  return true
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

-- The arguments of an action; a number goes into its argument, within what the command takes.
local function arguments_of(action, number)
  local arguments = {}
  for name, given in pairs(action.arguments) do arguments[name] = given end
  if action.argument then
    local most = math.min(number, action.max or number)
    arguments[action.argument] = math.max(most, action.min or most)
  end
  return arguments
end

-- Which of several outputs of a device an on and an off are of: the arguments that they share, such as a relay.
local function part_of(on, off)
  local shared = {}
  for name, given in pairs(on.arguments) do
    if off.arguments[name] == given then shared[#shared + 1] = ('%s=%s'):format(name, tostring(given)) end
  end
  table.sort(shared)
  return table.concat(shared, ' '):sub(1, 64)
end

-- An output of a device. The gateway decides between all rules that ask for it, sends the command and repeats it. The safe
-- action holds when this rule is silent; `actions` are the others that this rule may ask for. Its field `plan` says what is
-- going to be asked, for people to see.
local function new_output(name, safe, options)
  local self, last_fault, names = {}, nil, {}
  for _, one in pairs(options.actions or {}) do names[#names + 1] = one.device == safe.device and one.command or nil end
  local safe_arguments = arguments_of(safe, options.safe_number)
  local function request(priority, action, number, max)
    local fault = 'its commands are of different devices'
    if action.device == safe.device then
      local _
      _, fault = output.request(action.device, action.command, arguments_of(action, number), {
        priority = priority, valid_s = FRESH_S, output = options.part, max = max, plan = self.plan, commands = names,
        safe = { command = safe.command, arguments = safe_arguments },
      })
    end
    if fault and fault ~= last_fault then enapter.log(('%s: %s'):format(name, fault), 'error') end
    last_fault = fault
  end
  function self.ask(action, number) request(options.priority, action, number) end
  -- What holds while nobody wants anything; before the values of limits, and of rules that only limit.
  function self.rest(action, number) request(1, action, number) end
  function self.free(action, number) request(0, action, number) end
  -- A number that nobody may exceed, and that holds while nobody asks.
  function self.limit(action, number)
    local most = arguments_of(action, number)[action.argument]
    request(0, action, number, { [action.argument] = most })
  end
  function self.leave() output.release(safe.device, safe.command, { output = options.part }) end
  return self
end

-- Runs a command once, past the outputs. A refusal is logged once.
local refused
local function run(action)
  local device, fault = enapter.device(action.device)
  local _
  if device then _, fault = device.execute_command(action.command, arguments_of(action)) end
  if not fault then enapter.log('command ' .. action.command)
  elseif fault ~= refused then enapter.log(('%s: %s'):format(action.command, fault), 'error') end
  refused = fault
  return not fault
end

-- Calls `look` with every new value of the inputs, which is its argument, and every 10 s for inputs that fall silent.
-- Returns what looks once more, at once.
local function follow(look, inputs)
  local busy_at, looked_at
  local function once(new_value)
    -- A command waits for its device; meanwhile nothing is decided twice.
    if busy_at and system.uptime() - busy_at < 12 then return end
    busy_at, looked_at = system.uptime(), system.uptime()
    look(new_value)
    busy_at = nil
  end
  for _, input in pairs(inputs) do
    local device = enapter.device(input.device)
    if device then device.telemetry.on_update(input.attribute, once) end
  end
  -- Where a value has just been looked at, the clock brings nothing new.
  scheduler.add(10000, function() if system.uptime() - looked_at >= 5 then once() end end)
  once()
  return once
end
