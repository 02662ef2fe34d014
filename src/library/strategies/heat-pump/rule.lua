-- Brings an SG-Ready heat pump to one of its four states: blocked, normal, more by surplus, and all it can.

local pump = new_output('heat pump', P.normal, { priority = P.priority, actions = { P.more, P.full, P.block } })

local function is_blocked()
  return P.block and P.blocked and P.blocked.from ~= P.blocked.to
    and time.is_now_between(P.blocked.from, P.blocked.to)
end

-- The state that the surplus asks for; the present one when it asks for none.
local function wanted(present, grid_w)
  local goes_up = present == 'normal' and lasts('more', -grid_w >= P.more_w, P.hold_s)
  local goes_full = P.full and present == 'more' and lasts('full', -grid_w >= P.full_w, P.hold_s)
  local goes_down = present ~= 'normal' and lasts('down', grid_w > P.import_w, P.hold_s)
  if goes_down then return present == 'full' and 'more' or 'normal' end
  if goes_full then return 'full' end
  return goes_up and 'more' or present
end

local function look()
  local present = state.mode or 'normal'
  local grid_w = read(P.meter)
  local mode
  if is_blocked() then
    mode = 'blocked'
  elseif not grid_w then
    if is_starting() then return end
    mode = 'normal'
  elseif present == 'blocked' then
    mode = 'normal'
  else
    mode = wanted(present, grid_w)
    if elapsed('changed_at') < P.min_min * 60 then mode = present end
  end
  if mode ~= present then
    since = {}
    keep('mode', mode)
    keep('changed_at', os.time())
  end
  if mode == 'normal' then return pump.rest(P.normal) end
  pump.ask(({ blocked = P.block, more = P.more, full = P.full })[mode])
end

follow(look, { P.meter })
