-- Switches loads on while power is exported, the first of the list first, and off in reverse order before it is imported.

local outputs, since = {}, {}
for index, load in ipairs(P.loads) do
  local part = part_of(load.on, load.off)
  outputs[index] = new_output('load ' .. index, load.off, { priority = P.priority, part = part, actions = { load.on } })
end

-- Whether it has been so for long enough; false starts anew.
local function lasts(name, is_so)
  since[name] = is_so and (since[name] or system.uptime()) or nil
  return is_so and system.uptime() - since[name] >= P.hold_s
end

local function switch(index, is_on)
  keep('on_' .. index, is_on)
  keep('switched_' .. index, os.time())
  since = {}
end

local function apply()
  for index, load in ipairs(P.loads) do
    if state['on_' .. index] then outputs[index].ask(load.on) else outputs[index].rest(load.off) end
  end
end

-- The next one to switch on: the first that is off and had its pause.
local function next_on()
  for index = 1, #P.loads do
    if not state['on_' .. index] and elapsed('switched_' .. index) >= P.min_off_min * 60 then return index end
  end
end

-- The next one to switch off: the last that is on and ran long enough.
local function next_off()
  for index = #P.loads, 1, -1 do
    if state['on_' .. index] and elapsed('switched_' .. index) >= P.min_on_min * 60 then return index end
  end
end

local function look()
  local grid_w = read(P.meter)
  local soc = read(P.battery_soc)
  if not grid_w or (P.battery_soc and not soc) then
    if is_starting() then return end
    -- Nothing is known: everything off, the last of the list first.
    for index = #P.loads, 1, -1 do
      if state['on_' .. index] then switch(index, false) end
    end
    return apply()
  end
  local on, off = next_on(), next_off()
  local is_charged = not soc or soc >= P.battery_from
  if lasts('up', on ~= nil and is_charged and -grid_w >= P.loads[on].power_w) then
    switch(on, true)
  elseif lasts('down', off ~= nil and grid_w > P.import_w) then
    switch(off, false)
  end
  apply()
end

follow(look, { P.meter })
