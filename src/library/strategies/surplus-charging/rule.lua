-- Charges with what would be exported. The current follows the surplus; starts and stops are bounded.

local W_PER_A = 230
local PHASE_PAUSE_S = 30 -- no current around a switch of phases
local SWITCHES = P.phases == 'both' and P.one_phase and P.three_phases

local phases = SWITCHES and state.phases or tonumber(P.phases) or 3
local since, changed_at, paused_at, counted_at = {}, -math.huge, -math.huge, nil
local charged_kwh = state.charged_kwh or 0

local function lasts(name, is_so, hold_s)
  since[name] = is_so and (since[name] or system.uptime()) or nil
  return is_so and system.uptime() - since[name] >= hold_s
end

-- Watts that the charger may take; nil when a value is missing.
local function surplus_w(charger_w)
  local grid_w = read(P.meter)
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

-- The least energy is charged at full power at the last moment; the sun may have brought it before.
local function must_charge(charger_w)
  if P.ready_kwh <= 0 then return false end
  local now, at = os.time(), os.date('*t')
  at.hour, at.min, at.sec = tonumber(P.ready_by:sub(1, 2)), tonumber(P.ready_by:sub(4)), 0
  if os.time(at) <= now then at.day = at.day + 1 end
  local ready_at = os.time(at)
  if state.ready_at ~= ready_at then
    keep('ready_at', ready_at)
    charged_kwh = 0
  end
  charged_kwh = charged_kwh + charger_w * (counted_at and system.uptime() - counted_at or 0) / 3.6e6
  counted_at = system.uptime()
  -- In steps, because each is written to storage.
  keep('charged_kwh', charged_kwh - charged_kwh % 0.5)
  local full_w = W_PER_A * P.max_a * (SWITCHES and 3 or phases)
  return ready_at - now <= 300 + 1.1 * (P.ready_kwh - charged_kwh) * 3.6e6 / full_w and charged_kwh < P.ready_kwh
end

-- Of today; a switch of phases while charging is one, too.
local function may_start()
  local today = os.date('%Y-%m-%d')
  if state.day ~= today then
    keep('day', today)
    keep('starts', 0)
  end
  return state.starts < P.starts
end

local function set_charging(is_charging)
  keep('charging', is_charging)
  keep(is_charging and 'started_at' or 'stopped_at', os.time())
  if is_charging and may_start() then keep('starts', state.starts + 1) end
  since = {}
end

local function choose_phases(free_w, is_urgent)
  local three_w = 3 * W_PER_A * P.min_a
  local up = lasts('up', phases == 1 and free_w >= three_w, P.start_hold_s)
  local down = lasts('down', phases == 3 and free_w < three_w and not is_urgent, P.stop_hold_s)
  local is_due = (up or down) and elapsed('switched_at') >= P.phase_min * 60 and (not state.charging or may_start())
  if not is_due and not (is_urgent and phases == 1) then return end
  phases = 4 - phases
  keep('phases', phases)
  keep('switched_at', os.time())
  if state.charging then
    paused_at = system.uptime()
    set_charging(true)
  end
end

local function apply(current, charger_w)
  local is_paused = system.uptime() - paused_at < PHASE_PAUSE_S
  if not state.charging or is_paused then
    set('charging', 'off', P.stop)
    -- Contacts switch without current.
    if SWITCHES and (charger_w or 0) < 200 then set('phases', phases, phases == 1 and P.one_phase or P.three_phases) end
    return
  end
  local last = outputs.charging and outputs.charging.value
  -- The device needs time between two currents.
  if type(last) == 'number' and system.uptime() - changed_at < P.interval_s then current = last end
  if last ~= current then changed_at = system.uptime() end
  set('charging', current, P.current, current)
end

local function look()
  local charger_w = read(P.charger_power)
  local free_w = surplus_w(charger_w)
  if not free_w then
    if is_starting() then return end
    if state.charging then set_charging(false) end
    return apply()
  end
  local is_urgent = must_charge(charger_w)
  if SWITCHES then choose_phases(free_w, is_urgent) end
  local current = is_urgent and P.max_a or math.floor(math.min(free_w / (W_PER_A * phases), P.max_a))
  local is_enough = current >= P.min_a
  if not state.charging then
    local may = may_start() and elapsed('stopped_at') >= P.min_off_min * 60
    if is_urgent or lasts('more', is_enough and may, P.start_hold_s) then set_charging(true) end
  elseif lasts('less', not is_enough, P.stop_hold_s) and elapsed('started_at') >= P.min_on_min * 60 then
    set_charging(false)
  end
  apply(math.max(current, P.min_a), charger_w)
end

follow(look, { P.meter })
