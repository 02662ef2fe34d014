-- Alert escalation: an alert that stays is written to the log of this rule, then sounds the alarm.
--
-- Works with the alerts of every device, and counts a device that is offline as one. Set these to yours:
local ALARM = 'alarm' -- slug of a relay with a siren or a lamp; nil for none
local WEBHOOK = nil -- URL that gets a POST when the alarm begins; nil for none
local WARN_AFTER_S, ALARM_AFTER_S = 60, 600
local LOOK_EVERY_MS = 10000
local IGNORED = { not_configured = true } -- alerts, or 'device: alert'
local ATTRIBUTES = { 'alerts', 'conn_alerts' }

-- 'device: alert' → { since, level }: 0 is seen, 1 in the log, 2 alarms
local known = {}
local is_alarming = false

-- Names of its alerts; false as well when they are not known now: what was raised then stays as it is.
local function alerts_of(device)
  local online, message = device.online()
  if message then return {}, false end
  if not online then return { 'offline' }, false end
  local names = {}
  for _, attribute in ipairs(ATTRIBUTES) do
    for _, name in ipairs(device.telemetry.now(attribute, '365d') or {}) do names[#names + 1] = name end
  end
  return names, true
end

local function raise(name, alert)
  local lasted_s = os.time() - alert.since
  if alert.level < 1 and lasted_s >= WARN_AFTER_S then
    alert.level = 1
    enapter.log(name .. ' since ' .. lasted_s .. ' s', 'warning')
  end
  if alert.level < 2 and lasted_s >= ALARM_AFTER_S then
    alert.level = 2
    enapter.log(name .. ' since ' .. lasted_s .. ' s: alarm', 'error')
    if WEBHOOK then
      local _, message = http.post(WEBHOOK, 'application/json', json.encode({ alert = name, lasted_s = lasted_s }))
      if message then enapter.log('webhook: ' .. message, 'error') end
    end
  end
end

local function set_alarm(wanted)
  if not ALARM or wanted == is_alarming then return end
  local relay, message = enapter.device(ALARM)
  if relay then _, message = relay.execute_command(wanted and 'close' or 'open') end
  if message then
    enapter.log('alarm: ' .. message, 'error')
  else
    is_alarming = wanted
  end
end

local function look()
  local devices, message = enapter.devices()
  if not devices then error(message) end
  local seen, highest = {}, 0
  for _, device in ipairs(devices) do
    local prefix = device.slug .. ': '
    local names, is_known = alerts_of(device)
    for _, name in ipairs(names) do
      local key = prefix .. name
      if not IGNORED[name] and not IGNORED[key] then
        seen[key] = true
        known[key] = known[key] or { since = os.time(), level = 0 }
        raise(key, known[key])
      end
    end
    for key in pairs(known) do
      if not is_known and key:sub(1, #prefix) == prefix then seen[key] = true end
    end
  end
  for key, alert in pairs(known) do
    if not seen[key] then
      if alert.level > 0 then enapter.log(key .. ' is over') end
      known[key] = nil
    else
      highest = math.max(highest, alert.level)
    end
  end
  set_alarm(highest == 2)
end

look()
scheduler.add(LOOK_EVERY_MS, look)
