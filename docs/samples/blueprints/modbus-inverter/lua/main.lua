local registers = require('registers')

local MODES = { [0] = 'self_consumption', 'backup', 'peak_shaving' }
local STATUSES = { [0] = 'off', 'operating', 'fault' }
local FAULTS = { 'grid_failed', 'fan_stuck', 'battery_unreachable', 'battery_overheated' }
local TIMEOUT_MS = 1000

local client, unit_id, meter_unit_id

-- Connects by the configuration; what is read goes through here so that every failure is reported the same way.

local function connect()
  client = nil
  if not configuration.is_all_required_set('connection') then return end
  local values, err = configuration.read('connection')
  if not values then
    enapter.log('configuration cannot be read: ' .. err, 'error', true)
    return
  end
  unit_id, meter_unit_id = values.unit_id, values.meter_unit_id
  client, err = modbus.new(values.address)
  if not client then enapter.log('address is not usable: ' .. err, 'error', true) end
end

local function read_block(kind, unit, first, count)
  return { type = kind, addr = unit, reg = first, count = count, timeout = TIMEOUT_MS }
end

local function read_all()
  local results, err = client:read({
    read_block('inputs', unit_id, registers.MEASUREMENTS.first, registers.MEASUREMENTS.count),
    read_block('holdings', unit_id, registers.SETTINGS.first, registers.SETTINGS.count),
    read_block('inputs', meter_unit_id, registers.METER.first, registers.METER.count),
  })
  if not results then return nil, err end
  local blocks = {}
  for index, result in ipairs(results) do
    if not result.data then return nil, result.errmsg end
    blocks[index] = result.data
  end
  return blocks
end

local function send_telemetry()
  if not client then
    enapter.send_telemetry({ conn_alerts = { 'not_configured' } })
    return
  end
  local blocks, err = read_all()
  if not blocks then
    enapter.send_telemetry({
      conn_alerts = { 'communication_failed' },
      alert_details = { communication_failed = { errmsg = err } },
    })
    return
  end

  local measured = registers.reader(blocks[1], registers.MEASUREMENTS.first)
  local settings = registers.reader(blocks[2], registers.SETTINGS.first)
  local meter = registers.reader(blocks[3], registers.METER.first)
  local alerts = {}
  for bit, name in ipairs(FAULTS) do
    if measured.u16(1) & (1 << (bit - 1)) ~= 0 then alerts[#alerts + 1] = name end
  end
  enapter.send_telemetry({
    conn_alerts = {},
    alerts = alerts,
    status = STATUSES[measured.u16(0)],
    pv_total_power = measured.i32(2),
    battery_power = measured.i32(4),
    ac_total_power = measured.i32(6),
    ac_voltage = measured.u16(8) / 10,
    ac_frequency = measured.u16(9) / 100,
    battery_soc = measured.u16(10) / 10,
    battery_temperature = measured.i16(11) / 10,
    pv_energy_lifetime = measured.u32(16),
    battery_energy_in_lifetime = measured.u32(18),
    battery_energy_out_lifetime = measured.u32(20),
    mode = MODES[settings.u16(1)],
    charge_limit = settings.u16(3),
    grid_total_power = meter.i32(4),
    load_total_power = meter.i32(6),
  })
end

local function send_properties()
  enapter.send_properties({ vendor = 'Simulated', model = 'Hybrid 6000' })
end

local function write(ctx, register, value)
  if not client then ctx.error('the connection is not configured') end
  local err = client:write_holding(unit_id, register, value, TIMEOUT_MS)
  if err then ctx.error('the inverter did not take it: ' .. err) end
end

local function register_commands()
  enapter.register_command_handler('start', function(ctx) write(ctx, registers.RUNNING, 1) end)
  enapter.register_command_handler('stop', function(ctx) write(ctx, registers.RUNNING, 0) end)

  enapter.register_command_handler('set_charge_limit', function(ctx, args)
    write(ctx, registers.CHARGE_LIMIT, args.limit_w)
    return { limit_w = args.limit_w }
  end)

  enapter.register_command_handler('set_mode', function(ctx, args)
    for number, name in pairs(MODES) do
      if name == args.mode then
        write(ctx, registers.MODE, number)
        return { mode = name }
      end
    end
    ctx.error('there is no mode ' .. tostring(args.mode))
  end)

  enapter.register_command_handler('read_settings', function(ctx)
    if not client then ctx.error('the connection is not configured') end
    local first, count = registers.SETTINGS.first, registers.SETTINGS.count
    local data, err = client:read_holdings(unit_id, first, count, TIMEOUT_MS)
    if not data then ctx.error('the settings cannot be read: ' .. err) end
    local settings = registers.reader(data, first)
    return { limit_w = settings.u16(registers.CHARGE_LIMIT), mode = MODES[settings.u16(registers.MODE)] }
  end)
end

function enapter.main()
  connect()
  configuration.after_write('connection', connect)
  register_commands()
  send_properties()
  scheduler.add(30000, send_properties)
  scheduler.add(1000, send_telemetry)
end
