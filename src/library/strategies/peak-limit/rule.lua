-- Keeps the mean import of every quarter or half hour below a limit: first by the battery, then by switching loads off.

local WINDOW_S = tonumber(P.window) * 60

local battery = P.battery and P.release
  and new_output('battery', P.release, { priority = P.priority, actions = { P.battery } })
local outputs = {}
for index, load in ipairs(P.loads) do
  local part = part_of(load.on, load.off)
  outputs[index] = new_output('load ' .. index, load.on, { priority = P.priority, part = part, actions = { load.off } })
end
local began, used_ws, seen_at, room_since = nil, 0, nil, nil
-- After a restart the power goes on where it was.
local battery_w = elapsed('battery_at') < 120 and state.battery_w or 0
-- Largest start of a load in the last day; it fades.
local load_w, jump_w = nil, state.jump_w or 0

local function notice_start(grid_w)
  local now_w, passed_s = grid_w + battery_w, math.max(0, os.time() - (seen_at or os.time()))
  jump_w = math.max(load_w and now_w - load_w or 0, jump_w * math.max(0, 1 - passed_s / 86400))
  load_w = now_w
end

-- Energy kept free, Ws: for another load like that, beyond what the battery can give, for half of the window. The emptier
-- the battery, the less of it is spent on what may not come.
local function spare_ws(soc, left_s)
  local charged = P.battery_soc and (soc - P.battery_min) / math.max(1, 100 - P.battery_min) or 1
  local beyond_w = math.max(0, load_w + jump_w - P.battery_max_w - P.limit_w)
  return beyond_w * math.min(WINDOW_S / 2, left_s) * charged
end

-- Watts that may be imported for the rest of the window.
local function allowed_w(grid_w, is_usable, soc)
  local now = os.time()
  local start = now - now % WINDOW_S
  if start ~= began then
    -- Of a window that had begun before the rule, the part that nobody saw counts as used up to the limit.
    used_ws = began and 0 or P.limit_w * (now - start)
    began, seen_at = start, now
  end
  used_ws = used_ws + math.max(0, grid_w) * math.max(0, now - seen_at)
  seen_at = now
  -- The margin is kept until the end, for a load that starts then. The last minute looks into the next window, so that it
  -- does not allow what that one would pay for.
  local rate_w, left_s = P.limit_w * (1 - P.margin / 100), start + WINDOW_S - now
  local ahead_s = math.max(60, left_s)
  local spare = is_usable and load_w and spare_ws(soc, left_s) or 0
  return math.min(P.limit_w * 1.5, (rate_w * (WINDOW_S + ahead_s - left_s) - used_ws - spare) / ahead_s)
end

local function shed(index, is_off)
  keep('off_' .. index, is_off)
  keep('switched_at', os.time())
  room_since = nil
end

-- Its end at once, else twice a minute, because each is written to storage.
local function keep_power()
  if battery_w == 0 and (state.battery_w or 0) == 0 or battery_w > 0 and elapsed('battery_at') < 30 then return end
  state.battery_w, state.jump_w = battery_w, math.floor(jump_w)
  keep('battery_at', os.time())
end

-- The last load of the list goes first.
local function next_shed()
  for index = #P.loads, 1, -1 do
    if not state['off_' .. index] then return index end
  end
end

local function next_back()
  for index = 1, #P.loads do
    if state['off_' .. index] then return index end
  end
end

local function apply()
  local power = math.floor(battery_w / 100 + 0.5) * 100
  if battery and power > 0 then battery.ask(P.battery, power) elseif battery then battery.rest(P.release) end
  for index, load in ipairs(P.loads) do
    -- With room, a load is left to the other rules; without any it is switched on.
    if state['off_' .. index] then outputs[index].ask(load.off) else outputs[index].leave() end
  end
end

local function look(new_value)
  local grid_w = read(P.meter)
  if not grid_w then
    if is_starting() then return end
    -- Nothing is known: loads off, and the battery decides by itself.
    battery_w, load_w = 0, nil
    for index = 1, #P.loads do
      if not state['off_' .. index] then shed(index, true) end
    end
    return apply()
  end
  local soc = read(P.battery_soc)
  local is_usable = battery and (not P.battery_soc or (soc and soc > P.battery_min))
  if new_value then notice_start(grid_w) end
  local over_w = grid_w - allowed_w(grid_w, is_usable, soc)
  -- One measurement corrects the power once: the same one again would not show the correction yet.
  if new_value then battery_w = battery_w + over_w end
  battery_w = is_usable and math.max(0, math.min(P.battery_max_w, battery_w)) or 0
  keep_power()
  local is_exhausted = not is_usable or battery_w >= P.battery_max_w
  local victim, back = next_shed(), next_back()
  local has_room = back and battery_w <= 0 and -over_w >= P.loads[back].power_w
  room_since = has_room and (room_since or system.uptime()) or nil
  if over_w > 0 and is_exhausted and victim and elapsed('switched_at') >= 20 then
    shed(victim, true)
  elseif has_room and system.uptime() - room_since >= P.hold_s and elapsed('switched_at') >= P.min_off_min * 60 then
    shed(back, false)
  end
  apply()
end

follow(look, { P.meter })
