-- Runs a command at a time of day in the time zone of the site.

local DAYS = { sunday = 0, monday = 1, tuesday = 2, wednesday = 3, thursday = 4, friday = 5, saturday = 6 }

local days = {}
for _, day in ipairs(P.days) do days[#days + 1] = DAYS[day] end
local hour, minute = P.at:match('(%d+):(%d+)')
local due_at

-- A device that is offline at that time gets the command when it is back.
local try = follow(function()
  if not due_at then return end
  if run(P.action) or system.uptime() - due_at > P.patience_min * 60 then due_at = nil end
end, {})

scheduler.add_cron(('%d %d * * %s'):format(tonumber(minute), tonumber(hour), table.concat(days, ',')), function()
  due_at = system.uptime()
  try()
end)
