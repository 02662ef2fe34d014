local TIMEOUT_MS = 1000

local client, unit_id, coil

local function connect()
  client = nil
  if not configuration.is_all_required_set('connection') then return end
  local values = configuration.read('connection')
  unit_id, coil = values.unit_id, values.coil
  local err
  client, err = modbus.new(values.address)
  if not client then enapter.log('address is not usable: ' .. err, 'error', true) end
end

local function is_closed()
  local coils, err = client:read_coils(unit_id, coil, 1, TIMEOUT_MS)
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

-- Returns what went wrong, if anything did.
local function set(closed)
  if not client then return 'the connection is not configured' end
  local err = client:write_coil(unit_id, coil, closed, TIMEOUT_MS)
  if not err then remember(closed) end
  return err
end

local function restore()
  local position = storage.read('closed')
  if not client or not position or not configuration.read('behaviour').restore then return end
  local err = client:write_coil(unit_id, coil, position == '1', TIMEOUT_MS)
  if err then enapter.log('the last position is not restored: ' .. err, 'warning', true) end
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
  restore()
  configuration.after_write('connection', connect)
  register_command('close', function() return set(true) end)
  register_command('open', function() return set(false) end)
  register_command('impulse', function(args)
    local err = set(true)
    if err then return err end
    system.delay(args.duration_ms)
    return set(false)
  end)
  send_properties()
  scheduler.add(30000, send_properties)
  scheduler.add(1000, send_telemetry)
end
