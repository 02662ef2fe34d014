-- Keeps loads within the limit of the grid operator while its signal lasts, and logs both ends as evidence.

local outputs = {}
for index, load in ipairs(P.loads) do
  outputs[index] = new_output('load ' .. index, load.power, { safe_number = load.limit_w })
end

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
    if is_limited then outputs[index].limit(load.power, load.limit_w)
    else outputs[index].free(load.power, load.free_w) end
  end
end

follow(look, { P.signal })
