-- Battery reserve at night: keeps charge for a grid failure while the sun is away, and uses the battery by day.
--
-- Works with `mode` and the command `set_mode` of an inverter. Set these to yours:
local INVERTER = 'inverter' -- slug of the device
local NIGHT_FROM, NIGHT_TO = '22:00', '06:00' -- in the time zone of the site
local NIGHT_MODE, DAY_MODE = 'backup', 'self_consumption'
local RESERVE_PERCENT = 60 -- nil for an inverter whose set_mode has no reserve_percent

local inverter = assert(enapter.device(INVERTER))
-- At the start of the rule it is not known what was missed.
local is_due = true

local function apply()
  local mode = time.is_now_between(NIGHT_FROM, NIGHT_TO) and NIGHT_MODE or DAY_MODE
  if inverter.telemetry.now('mode', '1m') ~= mode then
    local arguments = { mode = mode }
    if mode == NIGHT_MODE then arguments.reserve_percent = RESERVE_PERCENT end
    local _, message = inverter.execute_command('set_mode', arguments)
    if message then
      enapter.log('set_mode ' .. mode .. ' failed, will be tried again: ' .. message, 'warning')
      return
    end
    enapter.log('mode ' .. mode)
  end
  is_due = false
end

local function every_day_at(clock)
  local hour, minute = clock:match('^(%d+):(%d+)$')
  scheduler.add_cron(string.format('%d %d * * *', minute, hour % 24), function()
    is_due = true
    apply()
  end)
end

every_day_at(NIGHT_FROM)
every_day_at(NIGHT_TO)
apply()
-- An inverter that was out of reach gets its mode when it is back.
scheduler.add(60000, function()
  if is_due then apply() end
end)
