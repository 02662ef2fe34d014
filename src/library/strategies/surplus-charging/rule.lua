-- Charges with what would be exported. The current follows the surplus; starts and stops are bounded.

local W_PER_A = 230 * tonumber(P.phases)

local since, changed_at = {}, -math.huge

local function lasts(name, is_so, hold_s)
  since[name] = is_so and (since[name] or system.uptime()) or nil
  return is_so and system.uptime() - since[name] >= hold_s
end

-- Watts that the charger may take; nil when a value is missing.
local function surplus_w()
  local grid_w, charger_w = read(P.meter), read(P.charger_power)
  local battery_w, soc = read(P.battery_power), read(P.battery_soc)
  if not grid_w or not charger_w then return nil end
  if (P.battery_power and not battery_w) or (P.battery_soc and not soc) then return nil end
  local free_w = charger_w - grid_w - P.reserve_w
  if battery_w then
    -- The car never empties the battery. Once the battery has enough, its charging power is for the car.
    free_w = free_w - math.max(0, battery_w)
    if not soc or soc >= P.car_from then free_w = free_w + math.max(0, -battery_w) end
  end
  return free_w
end

local function stop()
  if state.charging then
    keep('charging', false)
    keep('stopped_at', os.time())
  end
  since = {}
end

local function may_start()
  local today = os.date('%Y-%m-%d')
  if state.day ~= today then
    keep('day', today)
    keep('starts', 0)
  end
  return state.starts < P.starts and elapsed('stopped_at') >= P.min_off_min * 60
end

local function start()
  keep('starts', state.starts + 1)
  keep('started_at', os.time())
  keep('charging', true)
  since = {}
end

local function apply(current)
  if not state.charging then return set('charging', 'off', P.stop) end
  local last = outputs.charging and outputs.charging.value
  local pause_s = system.uptime() - changed_at
  -- The device needs time between two currents.
  if type(last) == 'number' and pause_s < P.interval_s then current = last end
  if last ~= current then changed_at = system.uptime() end
  set('charging', current, P.current, current)
end

local function look()
  local free_w = surplus_w()
  if not free_w then
    if is_starting() then return end
    stop()
    return apply()
  end
  local current = math.floor(math.min(free_w / W_PER_A, P.max_a))
  local is_enough = current >= P.min_a
  if not state.charging then
    if lasts('more', is_enough and may_start(), P.start_hold_s) then start() end
  elseif lasts('less', not is_enough, P.stop_hold_s) and elapsed('started_at') >= P.min_on_min * 60 then
    stop()
  end
  apply(math.max(current, P.min_a))
end

follow(look, { P.meter })
