-- Limits an inverter so that no more than the allowed power goes into the grid.

local limit_w, changed_at

-- The limit as the inverter takes it.
local function number_of(watts)
  return P.unit == 'percent' and math.floor(100 * watts / P.nominal_w) or math.floor(watts)
end

local safe_number = number_of(math.min(P.limit_w, P.nominal_w))
local inverter = new_output('inverter', P.inverter, { safe_number = safe_number })

local function look()
  local grid_w, pv_w = read(P.meter), read(P.pv_power)
  local is_known = grid_w ~= nil and pv_w ~= nil
  if not is_known and is_starting() then return end
  -- What the site uses now, and what may be exported beside it. When the use is unknown, the inverter may deliver
  -- what may be exported.
  local wanted_w = is_known and pv_w + grid_w + P.limit_w or P.limit_w
  wanted_w = math.max(0, math.min(P.nominal_w, wanted_w))
  local step_w = limit_w and wanted_w - limit_w
  -- Small changes upwards are left out, unless they reach the top.
  local is_worth = not step_w or step_w < 0 or wanted_w == P.nominal_w or step_w >= P.nominal_w / 100
  local is_due = not changed_at or not is_known or system.uptime() - changed_at >= P.interval_s
  if is_worth and is_due and step_w ~= 0 then limit_w, changed_at = wanted_w, system.uptime() end
  inverter.limit(P.inverter, number_of(limit_w))
end

follow(look, { P.meter })
