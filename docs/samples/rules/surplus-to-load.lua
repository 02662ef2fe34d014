-- Surplus solar to load: closes a relay while more power goes into the grid than the load takes.
--
-- Works with `grid_total_power` (W, positive while importing) and `battery_soc` of an inverter, and with a relay that
-- has `closed` and the commands `close` and `open`. Set these to yours:
local INVERTER, RELAY = 'inverter', 'relay' -- slugs of the devices
local LOAD_W = 2000 -- what the load takes, and a little more
local IMPORT_W = 200 -- so much may come from the grid while the load runs
local BATTERY_PERCENT = 80 -- the battery comes first
local HOLD_S = 300 -- how long it must be so before anything is switched: clouds pass

local inverter = assert(enapter.device(INVERTER))
local relay = assert(enapter.device(RELAY))
local since

local function wanted(closed)
  local grid_w = inverter.telemetry.now('grid_total_power', '1m')
  local soc = inverter.telemetry.now('battery_soc', '1m')
  -- Without fresh values nothing is switched on, and what is on goes off.
  if not grid_w or not soc then return false end
  if closed then return grid_w <= IMPORT_W end
  return grid_w <= -LOAD_W and soc >= BATTERY_PERCENT
end

local function decide()
  local closed = relay.telemetry.now('closed', '1m')
  -- A relay that says nothing is left alone.
  if closed == nil or wanted(closed) == closed then
    since = nil
    return
  end
  since = since or os.time()
  if os.time() - since < HOLD_S then return end
  since = nil
  local command = closed and 'open' or 'close'
  local _, message = relay.execute_command(command)
  if message then
    enapter.log(command .. ' failed: ' .. message, 'error')
  else
    enapter.log(command)
  end
end

inverter.telemetry.on_update('grid_total_power', decide)
-- An inverter that falls silent updates nothing.
scheduler.add(60000, decide)
