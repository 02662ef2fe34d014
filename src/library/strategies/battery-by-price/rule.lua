-- Plans the battery over the known prices: charges in cheap steps, holds for dear ones, and is released in those.

local battery = new_output('battery', P.release, { priority = P.priority, actions = { P.charge, P.hold } })
local STEP_S, STEP_H = 900, 0.25
local LEVELS, LEARN = 30, 0.2 -- of stored energy between reserve and full; weight of a new day in the expected load
local WAYS = { 'released', 'held', 'charging' }

local level_kwh, one_way = math.max(0.01, P.capacity_kwh * (100 - P.reserve) / 100 / LEVELS), math.sqrt(P.efficiency / 100)
local sun_at, sun_step, seen_at, hour, planned_at, way = nil, nil, nil, nil, nil, 'released'

-- The values of a schedule by time, nil where unknown, and the lowest of them.
local function schedule_of(input)
  local device, lowest = input and enapter.device(input.device), math.huge
  local schedule = device and device.telemetry.now(input.attribute, '3d')
  if type(schedule) ~= 'table' then schedule = {} end
  local values = type(schedule.values) == 'table' and schedule.values or {}
  for _, value in pairs(values) do lowest = math.min(lowest, tonumber(value) or lowest) end
  local start, length = tonumber(schedule.start), tonumber(schedule.step_s)
  return function(at)
    local value = start and length and length > 0 and values[(at - start) // length + 1]
    return type(value) == 'number' and value or nil
  end, lowest
end

-- What the house takes beside the battery by hour of the day: as measured, and without the sun that was forecast. So
-- what a forecast gets wrong every day does no harm.
local learnt = { load_w = { sum_ws = 0, sum_s = 0 }, sunless_w = { sum_ws = 0, sum_s = 0 } }
for key, each in pairs(learnt) do each.by_hour = storage.read(key) or {} end

local function learn(net_w)
  local now, this_hour, sun_w = system.uptime(), os.date('*t').hour, sun_at(os.time())
  local measured = { load_w = net_w, sunless_w = net_w and sun_w and net_w + sun_w * P.forecast_factor }
  for key, each in pairs(learnt) do
    if hour and hour ~= this_hour then
      local mean, name = each.sum_ws / each.sum_s, tostring(hour)
      if each.sum_s > 1800 then
        each.by_hour[name] = math.floor((each.by_hour[name] or mean) * (1 - LEARN) + mean * LEARN)
        storage.write(key, each.by_hour)
      end
      each.sum_ws, each.sum_s = 0, 0
    end
    local watts, seconds = measured[key], seen_at and now - seen_at or 0
    if watts then each.sum_ws, each.sum_s = each.sum_ws + watts * seconds, each.sum_s + seconds end
  end
  seen_at, hour = now, this_hour
end

local function expected_w(at)
  local name, sun_w = tostring(os.date('*t', at).hour), sun_at(at)
  if not sun_w then return learnt.load_w.by_hour[name] or P.load_w end
  return (learnt.sunless_w.by_hour[name] or P.load_w) - sun_w * P.forecast_factor
end

-- Change of the stored energy and of that from the grid in a step, kWh, with so much stored above the reserve.
local function flows(kind, stored, net_kwh)
  local wanted = -net_kwh
  if kind == 'charging' then wanted = P.charge_w * STEP_H / 1000 end
  if wanted < 0 then
    local given = kind == 'held' and 0 or math.min(-wanted, P.discharge_w * STEP_H / 1000, stored * one_way)
    return -given / one_way, net_kwh - given
  end
  local taken = math.min(wanted, P.charge_w * STEP_H / 1000, (LEVELS * level_kwh - stored) / one_way)
  return taken * one_way, net_kwh + taken
end

-- The best way now, and the course that it begins; nil without a price. What energy is worth is found from the end back.
local function plan(stored)
  local price_at, lowest = schedule_of(P.prices)
  local now, steps, prices, net_kwh, worth = os.time(), 0, {}, {}, { [0] = {} }
  while steps < 192 and price_at(now + steps * STEP_S) do
    local at = now + steps * STEP_S
    prices[steps], net_kwh[steps] = price_at(at), expected_w(at) / 1000 * STEP_H
    steps, worth[steps + 1] = steps + 1, {}
  end
  -- What is left at the end saves the lowest price, less the loss on its way out.
  for level = 0, LEVELS do worth[steps][level] = level * level_kwh * lowest * one_way end
  local function look_at(step, energy)
    local after, most, best, best_change = worth[step + 1], -math.huge, nil, nil
    for _, kind in ipairs(WAYS) do
      local change, grid = flows(kind, energy, net_kwh[step])
      local place = math.max(0, math.min(LEVELS, (energy + change) / level_kwh))
      local low = math.min(math.floor(place), LEVELS - 1)
      local value = after[low] + (after[low + 1] - after[low]) * (place - low)
      -- Wear: a cycle has to bring more than it costs.
      value = value - grid * (grid > 0 and prices[step] or P.feed_in) + math.min(0, change) * P.wear
      if value > most + 1e-9 then most, best, best_change = value, kind, change end
    end
    return most, best, best_change
  end
  for step = steps - 1, 1, -1 do
    for level = 0, LEVELS do worth[step][level] = look_at(step, level * level_kwh) end
  end
  local first, course = nil, { start = now // STEP_S * STEP_S, step_s = STEP_S, values = {} }
  for step = 0, steps - 1 do
    local _, best, change = look_at(step, math.max(0, stored))
    first, stored = first or best, math.max(0, stored) + change
    course.values[step + 1] = math.abs(change) < 0.01 and 'HOLD' or change > 0 and 'CHARGE' or 'DISCHARGE'
  end
  return first, first and course
end

local function look()
  local soc, grid_w, battery_w = read(P.battery_soc), read(P.meter), read(P.battery_power)
  local step = os.time() // STEP_S
  if step ~= sun_step then sun_at, sun_step = schedule_of(P.forecast), step end
  learn(grid_w and battery_w and grid_w + battery_w)
  if not soc and is_starting() then return end
  if not soc then way, planned_at, battery.plan = 'released', nil, nil
  elseif step ~= planned_at then
    way, battery.plan = plan((soc - P.reserve) / 100 * P.capacity_kwh)
    way, planned_at = way or 'released', way and step -- without a plan the battery decides by itself
  end
  if soc and soc <= P.reserve and way == 'released' then way = 'held' end
  if way == 'charging' then battery.ask(P.charge, P.charge_w)
  elseif way == 'held' then battery.ask(P.hold)
  else battery.rest(P.release) end
end

follow(look, { P.battery_soc })
