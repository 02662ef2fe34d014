-- Charges with what would be exported. The current follows the surplus; starts and stops are bounded.

local W_PER_A, PHASE_PAUSE_S = 230, 30 -- no current around a switch of phases
local SWITCHES = P.phases == 'both' and P.one_phase and P.three_phases
local charger = new_output('charging', P.stop, { priority = P.priority, actions = { P.current } })
local phases, charged_kwh = SWITCHES and state.phases or tonumber(P.phases) or 3, state.charged_kwh or 0
local changed_at, paused_at, counted_at, last_a = -math.huge, -math.huge, nil, nil

-- Watts that the charger may take, and those that it takes; nil when a value is missing.
local function surplus_w()
  local charger_w, grid_w, battery_w, soc = read(P.charger_power), read(P.meter), read(P.battery_power), read(P.battery_soc)
  if not grid_w or not charger_w or (P.battery_power and not battery_w) or (P.battery_soc and not soc) then return nil end
  local free_w = charger_w - grid_w - P.reserve_w
  if battery_w then
    -- The car never empties the battery. Once the battery has enough, its charging power is for the car.
    free_w = free_w - math.max(0, battery_w)
    if not soc or soc >= P.car_from then free_w = free_w + math.max(0, -battery_w) end
  end
  return free_w, charger_w
end

-- The least energy is charged at full power at the last moment; the sun may have brought it before.
local function must_charge(charger_w)
  if P.ready_kwh <= 0 then return false end
  local now, at = os.time(), os.date('*t')
  at.hour, at.min, at.sec = tonumber(P.ready_by:sub(1, 2)), tonumber(P.ready_by:sub(4)), 0
  if os.time(at) <= now then at.day = at.day + 1 end
  local ready_at = os.time(at)
  if keep('ready_at', ready_at) then charged_kwh = 0 end
  charged_kwh = charged_kwh + charger_w * (counted_at and system.uptime() - counted_at or 0) / 3.6e6
  counted_at = system.uptime()
  keep('charged_kwh', charged_kwh - charged_kwh % 0.5) -- in steps, because each is written to storage
  local needed_s = 3.6e6 * (P.ready_kwh - charged_kwh) / (W_PER_A * P.max_a * (SWITCHES and 3 or phases))
  -- Once begun it goes on, though charging makes the last moment a later one.
  local last_at = state.urgent_at == ready_at and now or ready_at - 300 - math.ceil(1.1 * needed_s)
  local begin_at = needed_s > 0 and math.max(now, last_at)
  if begin_at == now then keep('urgent_at', ready_at) end
  charger.plan = begin_at and { start = begin_at, step_s = ready_at - begin_at, values = { 'CHARGE' } } or nil
  return begin_at == now
end

-- Starts of today count when the car takes power; a switch of phases makes a start, too.
local function may_start()
  if keep('day', os.date('%Y-%m-%d')) then keep('starts', 0) end
  return state.starts < P.starts
end

local function set_charging(is_charging)
  keep('charging', is_charging)
  keep(is_charging and 'started_at' or 'stopped_at', os.time())
  keep('is_drawing', false)
  since = {}
end

-- Least surplus for one phase or three. While the least energy is missing, a part of it is better than none at night.
local function least_w(of)
  return W_PER_A * P.min_a * of * (charged_kwh >= P.ready_kwh and 1 or state.charging and of == 1 and 0.25 or 0.5)
end

local function choose_phases(free_w, is_urgent)
  -- Passing clouds are for one phase; three are for a sun that lasts.
  local three_w = 3 * W_PER_A * P.min_a
  local up = lasts('up', phases == 1 and free_w >= three_w, 2 * P.stop_hold_s)
  local down = lasts('down', phases == 3 and free_w < three_w and free_w >= least_w(1) and not is_urgent, P.start_hold_s)
  local is_due = (up or down) and elapsed('switched_at') >= P.phase_min * 60 and (not state.is_drawing or may_start())
  if not is_due and not (is_urgent and phases == 1) then return end
  phases = 4 - phases
  keep('phases', phases)
  keep('switched_at', os.time())
  keep('is_drawing', false)
  paused_at = system.uptime()
end

local function apply(current, charger_w)
  if not state.charging or system.uptime() - paused_at < PHASE_PAUSE_S or (SWITCHES and state.set_phases ~= phases) then
    last_a = nil
    -- Without charging, other rules may have the charger; not in a pause, in which contacts switch without current.
    if state.charging then charger.ask(P.stop) else charger.rest(P.stop) end
    if SWITCHES and (charger_w or 0) < 200 and state.set_phases ~= phases then
      if run(phases == 1 and P.one_phase or P.three_phases) then keep('set_phases', phases) end
    end
    return
  end
  if last_a and system.uptime() - changed_at < P.interval_s then current = last_a end -- the device needs time
  if last_a ~= current then last_a, changed_at = current, system.uptime() end
  charger.ask(P.current, current)
end

local function look()
  local free_w, charger_w = surplus_w()
  if not free_w then
    charger.plan = nil
    if is_starting() then return end
    if state.charging then set_charging(false) end
    return apply()
  end
  local is_urgent = must_charge(charger_w)
  -- A car that is gone or full makes a start when it takes power again.
  local is_idle = lasts('idle', state.is_drawing and charger_w < 200, P.stop_hold_s)
  if is_idle then keep('is_drawing', false) end
  if is_idle and not may_start() then set_charging(false) end
  local may = may_start() and elapsed('stopped_at') >= P.min_off_min * 60
  if state.charging and charger_w >= 200 and not state.is_drawing then
    keep('is_drawing', true)
    keep('starts', state.starts + 1)
  end
  if SWITCHES then choose_phases(free_w, is_urgent) end
  local current = is_urgent and P.max_a or math.floor(math.min(free_w / (W_PER_A * phases), P.max_a))
  local is_enough = is_urgent or free_w >= least_w(phases)
  if not state.charging then
    if is_urgent or lasts('more', is_enough and may, P.start_hold_s) then set_charging(true) end
  elseif lasts('less', not is_enough, P.stop_hold_s) and elapsed('started_at') >= P.min_on_min * 60
    or not is_enough and state.urgent_at and state.urgent_at == state.ready_at then
    set_charging(false) -- at once where all that was missing has come from the grid
  end
  apply(math.max(current, P.min_a), charger_w)
end

follow(look, { P.meter })
