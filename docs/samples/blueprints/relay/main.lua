local TIMEOUT_MS = 1000

local client, unit_id, coil
-- The position before the restart, until it is set or somebody has chosen another one.
local position_to_restore

local function connect()
  client = nil
  if not configuration.is_all_required_set('connection') then return end
  local values = configuration.read('connection')
  unit_id, coil = values.unit_id, values.coil
  local err
  client, err = modbus.new(values.address)
  if not client then enapter.log('address is not usable: ' .. err, 'error', true) end
end

-- The board may start later than the module, so this is tried until it answers.
local function restore()
  if not position_to_restore then return end
  local err = client:write_coil(unit_id, coil, position_to_restore == '1', TIMEOUT_MS)
  if err then return err end
  position_to_restore = nil
  enapter.log('the last position is restored', 'info', true)
end

local function is_closed()
  local err = restore()
  if err then return nil, err end
  local coils
  coils, err = client:read_coils(unit_id, coil, 1, TIMEOUT_MS)
  if not coils then return nil, err end
  return coils[1] == 1
end

local function send_telemetry()
  if not client then
    enapter.send_telemetry({ conn_alerts = { 'not_configured' } })
    return
  end
  local closed, err = is_closed()
  if err then
    enapter.send_telemetry({
      conn_alerts = { 'communication_failed' },
      alert_details = { communication_failed = { errmsg = err } },
    })
    return
  end
  enapter.send_telemetry({ conn_alerts = {}, closed = closed, status = closed and 'closed' or 'open' })
end

local function operations()
  return math.tointeger(tonumber(storage.read('operations') or '0')) or 0
end

local function send_properties()
  enapter.send_properties({ operations = operations() })
end

local function remember(closed)
  local err = storage.write('closed', closed and '1' or '0') or storage.write('operations', operations() + 1)
  if err then enapter.log('the position is not stored: ' .. err, 'warning') end
end

-- Returns what went wrong, if anything did. The position to go back to may be another one than that of the moment.
local function set(closed, position)
  if not client then return 'the connection is not configured' end
  local err = client:write_coil(unit_id, coil, closed, TIMEOUT_MS)
  if err then return err end
  position_to_restore = nil
  remember(position)
end

local function register_command(name, action)
  enapter.register_command_handler(name, function(ctx, args)
    local err = action(args)
    if err then ctx.error(err) end
    send_telemetry()
  end)
end

function enapter.main()
  connect()
  if configuration.read('behaviour').restore then position_to_restore = storage.read('closed') end
  configuration.after_write('connection', connect)
  register_command('close', function() return set(true, true) end)
  register_command('open', function() return set(false, false) end)
  register_command('impulse', function(args)
    -- A failure of the supply in between must not close it for good.
    local err = set(true, false)
    if err then return err end
    system.delay(args.duration_ms)
    return set(false, false)
  end)
  send_properties()
  scheduler.add(30000, send_properties)
  scheduler.add(1000, send_telemetry)
end
