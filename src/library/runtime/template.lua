-- Runs a device template: reads by the plan of main.lua, converts, sends telemetry and properties, and runs commands.
-- The plan is data; how to read it is said where it is used. A transport has connect(settings), read(client, requests),
-- run(client, step, fill), and raw(answer, rule) or reader(rule), which makes a function of the answer.

local template = {}

local NOT_CONFIGURED = 'not_configured'
local FAILED = 'communication_failed'
local PARTLY = 'values_missing'
-- A schedule is long and seldom changes: it is sent again after this time.
local SCHEDULES_EVERY_S = 3600
-- What is read more rarely than this is read once more soon after a start and after each change of settings.
local RARELY_MS, SOON_MS = 5000, 1000
-- Properties change rarely and are sent again for whoever missed them.
local PROPERTIES_EVERY_MS = 60000

-- Operations of derived values: each takes the values of its operands in order; missing ones are nil.
local operations = {}

function operations.sum(values, count)
  local total = 0
  for i = 1, count do
    if values[i] == nil then return nil end
    total = total + values[i]
  end
  return total
end

function operations.sum_known(values, count)
  local total
  for i = 1, count do
    if values[i] ~= nil then total = (total or 0) + values[i] end
  end
  return total
end

function operations.difference(values, count)
  local rest = values[1]
  if rest == nil then return nil end
  for i = 2, count do
    if values[i] == nil then return nil end
    rest = rest - values[i]
  end
  return rest
end

function operations.product(values, count)
  local product = 1
  for i = 1, count do
    if values[i] == nil then return nil end
    product = product * values[i]
  end
  return product
end

function operations.negate(values) return values[1] and -values[1] end

function operations.positive_part(values) return values[1] and math.max(values[1], 0) end

function operations.negative_part(values) return values[1] and math.max(-values[1], 0) end

function operations.first(values, count)
  for i = 1, count do
    if values[i] ~= nil then return values[i] end
  end
end

function operations.constant(values) return values[1] end

local function operand(seen, item)
  if type(item) == 'string' then return seen[item] end
  return item
end

local function derive(seen, rule, plan, settings)
  if rule.op == 'setting' then return settings[rule.of[1]] end
  if rule.op == 'now' then return plan.schedules.at(seen[rule.of[1]], os.time()) end
  if rule.op == 'select' then
    local chosen = seen[rule.by]
    return chosen ~= nil and operand(seen, rule.of[tostring(chosen)]) or nil
  end
  if rule.op == 'constant' then return rule.of[1] end
  local values, count = {}, #rule.of
  for i = 1, count do values[i] = operand(seen, rule.of[i]) end
  return operations[rule.op](values, count)
end

-- A whole number as the text of an enumeration has it: 3, not 3.0.
local function key_of(raw)
  if math.type(raw) == 'float' and raw == math.floor(raw) then return tostring(math.tointeger(raw)) end
  return tostring(raw)
end

-- A number by scale, power of ten and offset; nil if it is none.
local function scaled(rule, number, exponent)
  if number ~= number or number == math.huge or number == -math.huge then return nil end
  -- A scale below one is a division, so that 2304 tenths are 230.4 exactly.
  if rule.divide then number = number / rule.divide end
  if rule.scale then number = number * rule.scale end
  if exponent then
    if exponent < 0 then number = number / 10 ^ -exponent
    else number = number * 10 ^ exponent end
  end
  if rule.offset then number = number + rule.offset end
  return number
end

-- From the raw value to the value: no value, bits, enumeration, scale and offset. Alerts are collected on the way.
local function convert(rule, raw, exponent, alerts)
  if raw == nil or rule.none and rule.none[raw] then return nil end
  if rule.is_number and type(raw) == 'number' then return scaled(rule, raw, exponent) end
  if rule.mask then raw = (math.tointeger(raw) or 0) >> rule.shift & rule.mask end
  if rule.alerts then
    local alert = rule.alerts[key_of(raw)]
    if alert then alerts[#alerts + 1] = alert end
  end
  if rule.alert_bits then
    for bit, alert in pairs(rule.alert_bits) do
      if (math.tointeger(raw) or 0) & (1 << tonumber(bit)) ~= 0 then alerts[#alerts + 1] = alert end
    end
  end
  if rule.enum then return rule.enum[key_of(raw)] end
  if type(raw) == 'boolean' then
    if rule.type == 'float' or rule.type == 'integer' then return raw and 1 or 0 end
    return raw
  end
  if rule.type == 'boolean' then
    if type(raw) == 'number' then return raw ~= 0 end
    return nil
  end
  if rule.type == 'string' then
    if type(raw) == 'number' then return key_of(raw) end
    return raw
  end
  local number = tonumber(raw)
  number = number and scaled(rule, number, exponent)
  if number and rule.type == 'integer' then return math.tointeger(number) or math.floor(number + 0.5) end
  return number
end

-- Decided once, because every sample of every value runs what follows from it.
local function prepare(group, transport)
  local is_sent = {}
  for _, name in ipairs(group.telemetry) do is_sent[name] = true end
  group.hidden, group.seen = {}, {}
  local function hide(rule)
    if not is_sent[rule.name] then group.hidden[#group.hidden + 1] = rule.name end
  end
  for _, rule in ipairs(group.values) do
    rule.read = transport.reader and transport.reader(rule) or function(answer) return transport.raw(answer, rule) end
    local none = {}
    for _, raw in ipairs(rule.none or {}) do none[raw] = true end
    rule.none = rule.none and none
    rule.is_number = not (rule.mask or rule.alerts or rule.alert_bits or rule.enum or rule.type)
    hide(rule)
  end
  for _, rule in ipairs(group.schedules or {}) do hide(rule) end
  for _, rule in ipairs(group.derived) do hide(rule) end
end

-- Values of one group of equal rhythm, by name, from the answers of its requests. The table is that of the last reading,
-- each name of it set anew.
local function evaluate(group, answers, transport, plan, settings)
  local seen, alerts, missing = group.seen, {}, false
  local values = group.values
  for i = 1, #values do
    local rule = values[i]
    local answer, value = answers[rule.request], nil
    if answer == nil then
      missing = missing or not group.requests[rule.request].optional
    else
      local raw, exponent = rule.read(answer)
      if exponent or not rule.has_exponent then value = convert(rule, raw, exponent, alerts) end
    end
    seen[rule.name] = value
  end
  for _, rule in ipairs(group.schedules or {}) do
    local answer = rule.request and answers[rule.request]
    if rule.request and not answer then missing = missing or not group.requests[rule.request].optional end
    local course, faults =
      plan.schedules.of(rule, answer and transport.content(answer), settings, os.time())
    seen[rule.name] = course
    missing = missing or faults and not course
    if faults and faults ~= rule.logged then enapter.log(('%s: %s'):format(rule.name, faults), 'warning') end
    rule.logged = faults
  end
  for _, rule in ipairs(group.derived) do
    local value = derive(seen, rule, plan, settings)
    if rule.enum and value ~= nil then value = rule.enum[key_of(value)] end
    seen[rule.name] = value
  end
  return seen, alerts, missing
end

function template.start(plan, transport)
  local client, settings, fault
  local properties, is_prepared = {}, false
  -- Alerts by group, so that a slow group keeps its own between two readings.
  local alerts_of, repeats = {}, {}
  -- By name: the schedule that was sent last, as text, and when.
  local sent_schedules = {}
  if plan.has_schedules then plan.schedules = require('schedule') end

  local function connect()
    client, fault, is_prepared = nil, nil, false
    if plan.needs_nothing then
      settings = {}
      client, fault = transport.connect(plan, settings)
      return
    end
    if not configuration.is_all_required_set('connection') then return end
    local values, err = configuration.read('connection')
    if not values then
      fault = err
      return
    end
    settings = values
    client, fault = transport.connect(plan, values)
    if not client then enapter.log('The connection cannot be used: ' .. tostring(fault), 'error', true) end
  end

  local function all_alerts()
    local list, is_listed = {}, {}
    for index = 1, #plan.groups do
      for _, alert in ipairs(alerts_of[index] or {}) do
        if not is_listed[alert] then
          is_listed[alert] = true
          list[#list + 1] = alert
        end
      end
    end
    return list
  end

  local function send_properties()
    if next(properties) then enapter.send_properties(properties) end
  end

  local function report(index, problem)
    if index ~= 1 then return end
    enapter.send_telemetry({
      conn_alerts = { problem },
      alert_details = { [problem] = { errmsg = tostring(fault or '') } },
    })
  end

  local function leave_out_sent_schedules(group, message)
    for _, rule in ipairs(group.schedules or {}) do
      local course = message[rule.name]
      local text, last = course and json.encode(course), sent_schedules[rule.name]
      local now = system.uptime()
      if last and last.text == text and now - last.at < SCHEDULES_EVERY_S then
        message[rule.name] = nil
      elseif text then
        sent_schedules[rule.name] = { text = text, at = now }
      end
    end
  end

  local function run_group(index)
    local group = plan.groups[index]
    if not client then return report(index, fault and FAILED or NOT_CONFIGURED) end
    local answers, err = transport.read(client, plan, group, settings)
    -- A device that sends by itself has sent nothing since.
    if not answers and not err then return end
    if not answers then
      fault = err
      alerts_of[index] = nil
      return report(index, FAILED)
    end
    fault = nil
    local seen, alerts, missing = evaluate(group, answers, transport, plan, settings)
    alerts_of[index] = alerts
    local is_changed = false
    for _, name in ipairs(group.properties) do
      if seen[name] ~= nil and seen[name] ~= properties[name] then
        properties[name] = seen[name]
        is_changed = true
      end
    end
    -- What is left of them is the message.
    for _, name in ipairs(group.hidden) do seen[name] = nil end
    leave_out_sent_schedules(group, seen)
    if index == 1 then seen.conn_alerts = missing and { PARTLY } or {} end
    if plan.has_alerts then seen.alerts = all_alerts() end
    if next(seen) then enapter.send_telemetry(seen) end
    if is_changed then send_properties() end
  end

  -- A scheduler waits a whole period first: that of a price would leave a new device without values for minutes.
  local function read_rare_groups_soon()
    local once
    once = scheduler.add(SOON_MS, function()
      scheduler.remove(once)
      for index, group in ipairs(plan.groups) do
        if group.every_ms > RARELY_MS then run_group(index) end
      end
    end)
  end

  local function run_steps(steps, args, fail)
    for _, step in ipairs(steps) do
      if step.pause_ms then
        system.delay(step.pause_ms)
      else
        local err = transport.run(client, plan, step, args or {}, settings)
        if err then return fail(err) end
      end
    end
  end

  local function command(rule)
    return function(ctx, args)
      if not client then ctx.error('the connection is not configured') end
      local function fail(err) ctx.error('the device did not take it: ' .. tostring(err)) end
      if plan.prepare and not is_prepared then
        run_steps(plan.prepare, nil, fail)
        is_prepared = true
      end
      run_steps(rule.steps, args, fail)
      repeats[rule.output] = rule.repeat_ms and {
        steps = rule.steps,
        args = args,
        every_ms = rule.repeat_ms,
        left_ms = rule.repeat_ms,
      } or nil
      return args
    end
  end

  -- One clock for all repetitions: a command with `repeat_s` holds only while it is repeated.
  local REPEAT_TICK_MS = 1000
  local function repeat_commands()
    for _, active in pairs(repeats) do
      active.left_ms = active.left_ms - REPEAT_TICK_MS
      if active.left_ms <= 0 and client then
        active.left_ms = active.every_ms
        run_steps(active.steps, active.args, function(err)
          enapter.log('A command could not be repeated: ' .. tostring(err), 'warning')
        end)
      end
    end
  end

  for name, value in pairs(plan.constants) do properties[name] = value end
  connect()
  if not plan.needs_nothing then
    configuration.after_write('connection', function()
      connect()
      read_rare_groups_soon()
    end)
  end
  local has_repeats = false
  for name, rule in pairs(plan.commands) do
    enapter.register_command_handler(name, command(rule))
    has_repeats = has_repeats or rule.repeat_ms ~= nil
  end
  send_properties()
  for index, group in ipairs(plan.groups) do
    prepare(group, transport)
    scheduler.add(group.every_ms, function() run_group(index) end)
  end
  read_rare_groups_soon()
  scheduler.add(PROPERTIES_EVERY_MS, send_properties)
  if has_repeats then scheduler.add(REPEAT_TICK_MS, repeat_commands) end
end

return template
