-- Starts a generator or fuel cell when the battery is low, and stops it when the battery is charged.

local generator = new_output('generator', P.stop, { priority = P.priority, actions = { P.start } })
local STARTS = 3 -- so often a start is tried before somebody has to look after it

local function is_quiet()
  return P.quiet and P.quiet.from ~= P.quiet.to and time.is_now_between(P.quiet.from, P.quiet.to)
end

local function switch(is_on)
  keep('on', is_on)
  keep('switched_at', os.time())
end

-- Whether it delivers; true where nobody measures it.
local function delivers()
  if not P.power then return true end
  return (read(P.power) or 0) >= P.power_w
end

local function watch_start()
  if not state.on or state.failures == STARTS then return end
  if delivers() then return keep('failures', 0) end
  if elapsed('switched_at') < P.start_s then return end
  keep('failures', (state.failures or 0) + 1)
  enapter.log(('the generator did not start, attempt %d of %d'):format(state.failures, STARTS), 'error')
  switch(false)
end

local function look()
  local soc = read(P.battery_soc)
  if not soc and is_starting() then return end
  watch_start()
  local ran_s = elapsed('switched_at')
  if not soc then
    -- The charge is unknown: neither an empty tank nor noise all night.
    if state.on then switch(false) end
  elseif state.on then
    local is_due = soc >= P.stop_soc or (is_quiet() and soc > P.emergency_soc)
    if is_due and ran_s >= P.min_run_min * 60 then switch(false) end
  elseif soc <= P.start_soc and (not is_quiet() or soc <= P.emergency_soc) then
    -- After failures it waits for a person, who restarts the rule or charges the battery.
    if (state.failures or 0) < STARTS and ran_s >= P.min_pause_min * 60 then switch(true) end
  elseif soc > P.start_soc then
    keep('failures', 0)
  end
  if state.on then generator.ask(P.start) else generator.rest(P.stop) end
end

follow(look, { P.battery_soc })
