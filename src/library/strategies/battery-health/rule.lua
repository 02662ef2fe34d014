-- Limits the charging of a battery: not full on ordinary days, slow at the top, and careful in the cold.

local safe_number = math.min(P.slow_w, P.cold_w)
local charging = new_output('charge limit', P.limit, { safe_number = safe_number })
local DAY_S = 86400

-- Once below its limit, the temperature has to rise a little above it.
local function is_below(name, celsius, limit_c)
  local is_so = celsius <= limit_c or (state[name] == true and celsius < limit_c + 1)
  keep(name, is_so)
  return is_so
end

local function limit_w(soc, celsius)
  if not state.full_at or soc >= 99 then keep('full_at', os.time()) end
  -- Now and then a full charge balances the cells.
  local top = elapsed('full_at') >= P.full_days * DAY_S and 100 or P.top
  local is_topped = top < 100 and (soc >= top or (state.is_topped == true and soc > top - P.margin))
  keep('is_topped', is_topped)
  if is_topped then return 0 end
  local most_w = soc >= P.slow_from and P.slow_w or P.max_w
  if not P.temperature then return most_w end
  -- An unknown temperature counts as cold.
  if celsius and is_below('is_frozen', celsius, P.frozen_c) then return 0 end
  if not celsius or is_below('is_cold', celsius, P.cold_c) then return math.min(most_w, P.cold_w) end
  return most_w
end

local function look()
  local soc, celsius = read(P.battery_soc), read(P.temperature)
  if (not soc or (P.temperature and not celsius)) and is_starting() then return end
  local most_w = soc and limit_w(soc, celsius) or math.min(P.slow_w, P.cold_w)
  charging.limit(P.limit, most_w)
end

follow(look, { P.battery_soc })
