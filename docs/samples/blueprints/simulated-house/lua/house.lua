-- A house with panels, a battery and a grid connection, moved on in steps of equal length. Pure: the same state, step
-- and hour give the same. Power in W: battery positive while discharging, grid while importing. Energy in Wh.

local house = { STEP_S = 5, CAPACITY_WH = 10000, INVERTER_W = 6000, BATTERY_V = 51.2 }

local PV_PEAK_W = 7200
local SUNRISE_H, SUNSET_H = 6, 20
local BATTERY_MAX_W = 5000
-- Of each direction.
local EFFICIENCY = 0.97
local LOW_BELOW_PERCENT, LOW_UNTIL_PERCENT = 25, 30
local HOURS = house.STEP_S / 3600

function house.new()
  return {
    stored_wh = house.CAPACITY_WH / 2,
    is_low = false,
    is_running = true,
    mode = 'self_consumption',
    reserve_percent = 20,
    charge_limit_w = BATTERY_MAX_W,
    pv_wh = 0,
    battery_in_wh = 0,
    battery_out_wh = 0,
    grid_in_wh = 0,
    grid_out_wh = 0,
    load_wh = 0,
  }
end

function house.soc_percent(state)
  return 100 * state.stored_wh / house.CAPACITY_WH
end

local function clamp(value, min, max)
  return math.max(min, math.min(max, value))
end

-- 0 to 1, the same for the same number.
local function scattered(series, number)
  local value = math.sin(number * 12.9898 + series * 78.233) * 43758.5453
  return value - math.floor(value)
end

-- Between -1 and 1, changing slowly: from one value to the next within `duration_s`.
local function wander(series, step, duration_s)
  local position = step * house.STEP_S / duration_s
  local number = math.floor(position)
  local share = position - number
  share = share * share * (3 - 2 * share)
  return 2 * (scattered(series, number) * (1 - share) + scattered(series, number + 1) * share) - 1
end

local function bell(hour, center_h, width_h)
  return math.exp(-0.5 * ((hour - center_h) / width_h) ^ 2)
end

function house.sun_w(step, hour)
  if hour <= SUNRISE_H or hour >= SUNSET_H then return 0 end
  local height = math.sin(math.pi * (hour - SUNRISE_H) / (SUNSET_H - SUNRISE_H))
  local sky = clamp(0.75 + 0.2 * wander(1, step, 10800) + 0.1 * wander(2, step, 120), 0.05, 1)
  return math.floor(PV_PEAK_W * height ^ 1.3 * sky)
end

function house.load_w(step, hour)
  local people = 900 * bell(hour, 7.3, 0.8) + 1300 * bell(hour, 19.2, 1.6)
  -- A kettle, now and then for three minutes.
  local is_cooking = hour > 6 and hour < 23 and scattered(3, step * house.STEP_S // 180) > 0.94
  return math.floor(320 + 80 * wander(4, step, 900) + people + (is_cooking and 2000 or 0))
end

local function wanted_battery_w(state, sun_w, load_w)
  local is_filling = state.mode == 'backup' and house.soc_percent(state) < state.reserve_percent - 0.01
  return is_filling and -BATTERY_MAX_W or load_w - sun_w
end

-- What the battery does of what is wanted, within its power, its room, and what may be taken out of it.
local function battery_w(state, wanted_w)
  local room_w = (house.CAPACITY_WH - state.stored_wh) / EFFICIENCY / HOURS
  local kept_wh = house.CAPACITY_WH * state.reserve_percent / 100
  local left_w = math.max(0, state.stored_wh - kept_wh) * EFFICIENCY / HOURS
  local charge_w = math.min(state.charge_limit_w, BATTERY_MAX_W, math.floor(room_w))
  return clamp(wanted_w, -charge_w, math.min(BATTERY_MAX_W, math.floor(left_w)))
end

local function count(state, flows)
  state.pv_wh = state.pv_wh + flows.pv_w * HOURS
  state.battery_in_wh = state.battery_in_wh + math.max(0, -flows.battery_w) * HOURS
  state.battery_out_wh = state.battery_out_wh + math.max(0, flows.battery_w) * HOURS
  state.grid_in_wh = state.grid_in_wh + math.max(0, flows.grid_w) * HOURS
  state.grid_out_wh = state.grid_out_wh + math.max(0, -flows.grid_w) * HOURS
  state.load_wh = state.load_wh + flows.load_w * HOURS
end

-- Moves the state on by one step and answers what flowed in it: whole watts that add up exactly.
function house.step(state, step, hour)
  local load_w = house.load_w(step, hour)
  local sun_w = state.is_running and house.sun_w(step, hour) or 0
  local battery = state.is_running and battery_w(state, wanted_battery_w(state, sun_w, load_w)) or 0
  -- Beyond the power of the inverter the panels give way.
  local pv_w = math.min(sun_w, house.INVERTER_W - battery)
  local flows = { pv_w = pv_w, battery_w = battery, load_w = load_w, grid_w = load_w - pv_w - battery }
  local change_w = battery > 0 and -battery / EFFICIENCY or -battery * EFFICIENCY
  state.stored_wh = clamp(state.stored_wh + change_w * HOURS, 0, house.CAPACITY_WH)
  state.is_low = house.soc_percent(state) < (state.is_low and LOW_UNTIL_PERCENT or LOW_BELOW_PERCENT)
  count(state, flows)
  flows.is_throttled = pv_w < sun_w
  flows.voltage = 230 + 2 * wander(5, step, 600)
  flows.frequency = 50 + 0.02 * wander(6, step, 60)
  return flows
end

return house
