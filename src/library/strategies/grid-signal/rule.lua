-- Keeps loads within the limit of the grid operator while its signal lasts, and logs both ends as evidence.

local function look()
  local signal = read(P.signal)
  if not signal and is_starting() then return end
  -- Without a signal that can be read, the limit holds.
  local is_limited = not signal or (signal ~= 0) == (P.limited_while == 'on')
  if is_limited ~= state.is_limited then
    keep('is_limited', is_limited)
    keep('changed_at', os.time())
    enapter.log(is_limited and (signal and 'limit of the grid operator begins' or 'limit holds: signal unknown')
      or 'limit of the grid operator ends', 'warning')
  end
  for index, load in ipairs(P.loads) do
    local most_w = is_limited and load.limit_w or load.free_w
    set('load ' .. index, most_w, load.power, most_w)
  end
end

follow(look, { P.signal })
