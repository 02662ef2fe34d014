-- Makes hydrogen with what would be exported, until the tank is full; power moves in a ramp, and short gaps are standby.

local electrolyser = new_output('electrolyser', P.stop, { priority = P.priority, actions = { P.power, P.standby } })
local last_w, changed_at, ticked_at = nil, -math.huge, nil
local power_w = 0
local is_full = state.is_full == true

local function go(mode)
  if state.mode == mode then return end
  if mode == 'running' then keep('started_at', os.time()) else power_w = 0 end
  if mode == 'off' then keep('stopped_at', os.time()) end
  if mode == 'standby' then keep('rested_at', os.time()) end
  keep('mode', mode)
  since = {}
end

-- Up no faster than the ramp, after a restart from what it takes; down at once, because somebody would pay for the rest.
local function ramp(target_w, taken_w)
  local now = system.uptime()
  if not ticked_at then power_w = math.max(power_w, taken_w) end
  local most_w = power_w + P.ramp_w * (ticked_at and now - ticked_at or 0) / 60
  ticked_at = now
  power_w = math.max(P.min_w, math.min(target_w, most_w, P.max_w))
end

local function apply()
  if state.mode ~= 'running' then last_w = nil end
  if state.mode == 'standby' and P.standby then return electrolyser.ask(P.standby) end
  if state.mode ~= 'running' then return electrolyser.rest(P.stop) end
  local value = power_w // 10 * 10
  if last_w and system.uptime() - changed_at < P.interval_s then value = last_w end
  if last_w ~= value then last_w, changed_at = value, system.uptime() end
  electrolyser.ask(P.power, value)
end

local function look()
  local grid_w, taken_w, level = read(P.meter), read(P.electrolyser_power), read(P.tank)
  if not grid_w or not taken_w or not level then
    if is_starting() then return end
    go('off')
    return apply()
  end
  is_full = level >= P.tank_full or (is_full and level > P.tank_again)
  keep('is_full', is_full)
  local free_w = taken_w - grid_w - P.reserve_w
  local is_enough = free_w >= P.min_w and not is_full
  if is_full then
    -- Beyond the limit nothing waits for a minimum time.
    go('off')
  elseif state.mode == 'running' then
    if lasts('less', not is_enough, P.stop_hold_s) and elapsed('started_at') >= P.min_on_min * 60 then
      go(P.standby and 'standby' or 'off')
    end
  elseif state.mode == 'standby' then
    if lasts('more', is_enough, P.start_hold_s) then go('running')
    elseif elapsed('rested_at') >= P.standby_min * 60 then go('off') end
  elseif lasts('more', is_enough and elapsed('stopped_at') >= P.min_off_min * 60, P.start_hold_s) then
    go('running')
  end
  if state.mode == 'running' then ramp(free_w, taken_w) else ticked_at = nil end
  apply()
end

follow(look, { P.meter })
