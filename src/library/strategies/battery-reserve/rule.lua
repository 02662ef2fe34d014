-- Keeps a reserve in the battery, always or in a part of the day, a larger one until sunrise and in a storm.

local STORM_S = 2 * 3600 -- weather services have a value once an hour
local battery = new_output('battery', P.release, { priority = P.priority, actions = { P.hold, P.charge } })
local is_filling

local function is_time()
  return not P.window or P.window.from == P.window.to or time.is_now_between(P.window.from, P.window.to)
end

-- A storm lasts on for some hours, because gusts come and go. Storage is written once in ten minutes.
local function is_storm()
  local level = read(P.storm, STORM_S)
  if level and level >= P.storm_from and elapsed('storm_at') >= 600 then keep('storm_at', os.time()) end
  return elapsed('storm_at') < P.storm_h * 3600
end

-- The sun is down, or the location of the site is not known.
local function is_night()
  local position = sun.position()
  return not position or position.altitude < 0
end

-- The reserve of now; nil when there is none.
local function reserve_now(storm)
  local reserve = is_time() and P.reserve or nil
  if P.morning > 0 and is_night() then reserve = math.max(reserve or 0, P.morning) end
  if storm then reserve = math.max(reserve or 0, P.storm_reserve) end
  return reserve
end

local function look()
  local soc = read(P.battery_soc)
  if not soc and is_starting() then return end
  local storm = is_storm()
  local reserve = reserve_now(storm)
  local is_held = state.held == true
  if not reserve then
    is_held = false
  elseif not soc or soc <= reserve then
    -- An unknown charge is kept.
    is_held = true
  elseif soc >= reserve + P.margin then
    is_held = false
  end
  if is_held ~= state.held then
    -- Not to and fro around the limit; a window and silence do not wait.
    if soc and reserve and elapsed('changed_at') < P.min_min * 60 then
      is_held = state.held == true
    else
      keep('held', is_held)
      keep('changed_at', os.time())
    end
  end
  -- In a storm, a battery with a command for it is filled up to the reserve, and again when the margin is missing.
  if not storm or not soc or not P.charge then is_filling = nil
  elseif soc >= reserve then is_filling = false
  elseif is_filling == nil or soc <= reserve - P.margin then is_filling = true end
  if is_filling and is_held then battery.ask(P.charge, P.charge_w)
  elseif is_held then battery.ask(P.hold)
  else battery.rest(P.release) end
end

follow(look, { P.battery_soc })
