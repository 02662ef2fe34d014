-- Plans the battery over the known prices: charges in cheap steps, holds for dear ones, and is released in those.

local battery = new_output('battery', P.release, { priority = P.priority })
local STEP_S = 900
local LEVELS = 30 -- of stored energy between reserve and full
local LEARN = 0.2 -- weight of a new day in the expected load
local WAYS = { 'released', 'held', 'charging' }
local STEP_H = STEP_S / 3600

local level_kwh = math.max(0.01, P.capacity_kwh * (100 - P.reserve) / 100 / LEVELS)
local one_way = math.sqrt(P.efficiency / 100)
local load_w = storage.read('load_w') or {}
local sum_ws, seen_at, hour = 0, nil, nil
local sum_s, planned_at, way = 0, nil, 'released'

-- Learns what the house takes beside the battery, sun included, by hour of the day.
local function learn(net_w)
  local now, this_hour = system.uptime(), os.date('*t').hour
  if hour and hour ~= this_hour then
    local key = tostring(hour)
    if sum_s > 1800 then
      load_w[key] = math.floor((load_w[key] or sum_ws / sum_s) * (1 - LEARN) + sum_ws / sum_s * LEARN)
      storage.write('load_w', load_w)
    end
    sum_ws, sum_s = 0, 0
  end
  if seen_at and net_w then sum_ws, sum_s = sum_ws + net_w * (now - seen_at), sum_s + now - seen_at end
  seen_at, hour = now, this_hour
end

-- Prices from the present step on, until one is not known, and the lowest of the schedule.
local function prices()
  local device, found, lowest = enapter.device(P.prices.device), {}, math.huge
  local schedule = device and device.telemetry.now(P.prices.attribute, '3d')
  if type(schedule) ~= 'table' or type(schedule.values) ~= 'table' then return found end
  for _, price in pairs(schedule.values) do lowest = math.min(lowest, tonumber(price) or lowest) end
  local start, length = tonumber(schedule.start), tonumber(schedule.step_s)
  local now = os.time()
  for step = 0, start and length and length > 0 and 191 or -1 do
    local price = schedule.values[(now - now % STEP_S + step * STEP_S - start) // length + 1]
    if type(price) ~= 'number' then break end
    found[#found + 1] = price
  end
  return found, lowest
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

-- The best way for the present step: the least cost over all known ones, found from the last one backwards.
local function plan(price, lowest, stored)
  local worth, now = {}, os.time()
  -- What is left at the end saves the lowest price, less the loss on its way out.
  for level = 0, LEVELS do worth[level] = level * level_kwh * lowest * one_way end
  local function value(energy)
    local place = math.max(0, math.min(LEVELS, energy / level_kwh))
    local low = math.min(place // 1 | 0, LEVELS - 1)
    return worth[low] + (worth[low + 1] - worth[low]) * (place - low)
  end
  local function net_in(step)
    local at = os.date('*t', now + (step - 1) * STEP_S).hour
    return (load_w[tostring(at)] or P.load_w) / 1000 * STEP_H
  end
  local best
  local function look_at(energy, step, net_kwh)
    local most = -math.huge
    for _, kind in ipairs(WAYS) do
      local change, grid = flows(kind, energy, net_kwh)
      local worth_of = value(energy + change) - grid * (grid > 0 and price[step] or P.feed_in)
      -- Wear: a cycle has to bring more than it costs.
      if change < 0 then worth_of = worth_of + change * P.wear end
      if worth_of > most + 1e-9 then most, best = worth_of, kind end
    end
    return most
  end
  for step = #price, 2, -1 do
    local before, net_kwh = {}, net_in(step)
    for level = 0, LEVELS do before[level] = look_at(level * level_kwh, step, net_kwh) end
    worth = before
  end
  look_at(math.max(0, stored), 1, net_in(1))
  return best
end

local function look()
  local soc, grid_w, battery_w = read(P.battery_soc), read(P.meter), read(P.battery_power)
  learn(grid_w and battery_w and grid_w + battery_w)
  if not soc and is_starting() then return end
  local step = os.time() // STEP_S
  local price, lowest
  if soc and step ~= planned_at then price, lowest = prices() end
  if not soc or (price and #price == 0) then
    -- Nothing can be planned: the battery decides by itself.
    way, planned_at = 'released', nil
  elseif price then
    way, planned_at = plan(price, lowest, (soc - P.reserve) / 100 * P.capacity_kwh), step
  end
  if soc and soc <= P.reserve and way == 'released' then way = 'held' end
  if way == 'charging' then battery.ask(P.charge, P.charge_w)
  elseif way == 'held' then battery.ask(P.hold)
  else battery.rest(P.release) end
end

follow(look, { P.battery_soc })
