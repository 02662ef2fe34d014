-- Keeps a reserve in the battery, always or in a part of the day.

local battery = new_output('battery', P.release, { priority = P.priority })

local function is_time()
  return not P.window or P.window.from == P.window.to or time.is_now_between(P.window.from, P.window.to)
end

local function look()
  local soc = read(P.battery_soc)
  if not soc and is_starting() then return end
  local is_held = state.held == true
  if not is_time() then
    is_held = false
  elseif not soc or soc <= P.reserve then
    -- An unknown charge is kept.
    is_held = true
  elseif soc >= P.reserve + P.margin then
    is_held = false
  end
  if is_held ~= state.held then
    -- Not to and fro around the limit; a window and silence do not wait.
    if soc and is_time() and elapsed('changed_at') < P.min_min * 60 then
      is_held = state.held == true
    else
      keep('held', is_held)
      keep('changed_at', os.time())
    end
  end
  if is_held then battery.ask(P.hold) else battery.rest(P.release) end
end

follow(look, { P.battery_soc })
