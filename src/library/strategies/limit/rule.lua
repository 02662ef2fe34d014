-- Runs a command once when a value has been beyond its limit for long enough.

local since

local function look()
  -- Slow sensors report every few minutes. Without a value nothing is known, and nothing is done.
  local value = read(P.watched, 600)
  local is_beyond = value and ((P.side == 'above' and value > P.limit) or (P.side == 'below' and value < P.limit))
  if not is_beyond then
    since = nil
    if value then keep('done', false) end
    return
  end
  since = since or system.uptime()
  if state.done or system.uptime() - since < P.hold_s then return end
  if run(P.action) then keep('done', true) end
end

follow(look, { P.watched })
