-- Plans the battery over the known prices: charges in cheap steps, holds for dear ones, and is released in those.

local battery = new_output('battery', P.release, { priority = P.priority })
local STEP_S, STEP_H = 900, 0.25
local LEVELS = 30 -- of stored energy between reserve and full
local LEARN = 0.2 -- weight of a new day in the expected load
local WAYS = { 'released', 'held', 'charging' }

local level_kwh = math.max(0.01, P.capacity_kwh * (100 - P.reserve) / 100 / LEVELS)
local one_way = math.sqrt(P.efficiency / 100)
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

-- The best way for the present step, found from the last step with a price backwards; nil without a price.
local function plan(stored)
  local price_at, lowest = schedule_of(P.prices)
  local worth, now, steps, best = {}, os.time(), 0, nil
  while steps < 192 and price_at(now + steps * STEP_S) do steps = steps + 1 end
  -- What is left at the end saves the lowest price, less the loss on its way out.
  for level = 0, LEVELS do worth[level] = level * level_kwh * lowest * one_way end
  local function value(energy)
    local place = math.max(0, math.min(LEVELS, energy / level_kwh))
    local low = math.min(place // 1 | 0, LEVELS - 1)
    return worth[low] + (worth[low + 1] - worth[low]) * (place - low)
  end
  local function look_at(energy, price, net_kwh)
    local most = -math.huge
    for _, kind in ipairs(WAYS) do
      local change, grid = flows(kind, energy, net_kwh)
      local worth_of = value(energy + change) - grid * (grid > 0 and price or P.feed_in)
      -- Wear: a cycle has to bring more than it costs.
      if change < 0 then worth_of = worth_of + change * P.wear end
      if worth_of > most + 1e-9 then most, best = worth_of, kind end
    end
    return most
  end
  for step = steps - 1, 0, -1 do
    local before, at = {}, now + step * STEP_S
    local price, net_kwh = price_at(at), expected_w(at) / 1000 * STEP_H
    if step == 0 then look_at(math.max(0, stored), price, net_kwh) break end
    for level = 0, LEVELS do before[level] = look_at(level * level_kwh, price, net_kwh) end
    worth = before
  end
  return best
end

local function look()
  local soc, grid_w, battery_w = read(P.battery_soc), read(P.meter), read(P.battery_power)
  local step = os.time() // STEP_S
  if step ~= sun_step then sun_at, sun_step = schedule_of(P.forecast), step end
  learn(grid_w and battery_w and grid_w + battery_w)
  if not soc and is_starting() then return end
  if not soc then way, planned_at = 'released', nil
  elseif step ~= planned_at then
    -- Without a plan the battery decides by itself.
    way = plan((soc - P.reserve) / 100 * P.capacity_kwh)
    way, planned_at = way or 'released', way and step
  end
  if soc and soc <= P.reserve and way == 'released' then way = 'held' end
  if way == 'charging' then battery.ask(P.charge, P.charge_w)
  elseif way == 'held' then battery.ask(P.hold)
  else battery.rest(P.release) end
end

follow(look, { P.battery_soc })
