local house = require('house')

local PERIOD_MS = house.STEP_S * 1000
-- What a restart may have to live through again, and what it lives through of a longer pause.
local KEPT_EVERY_STEPS = 300 // house.STEP_S
local LIVED_THROUGH_STEPS = 4 * 3600 // house.STEP_S

-- Goes on from what was kept, as a house that was there all the while.
local state = house.new()
local flows
local kept_step = 0

local function keep()
  kept_step = state.step
  local err = storage.write('state', json.encode(state))
  if err then enapter.log('the state is not kept: ' .. err, 'warning') end
end

local function restore()
  local text = storage.read('state')
  local is_read, kept = pcall(json.decode, text or '')
  if not is_read then return end
  for name, value in pairs(kept) do state[name] = value end
end

local function advance()
  local now_s = os.time()
  local now = now_s // house.STEP_S
  local date = os.date('*t', now_s)
  local midnight_s = now_s - date.hour * 3600 - date.min * 60 - date.sec
  local before = state.step or now - 1
  -- A clock that was set takes nothing back.
  if before > now then before = now end
  for step = math.max(before, now - LIVED_THROUGH_STEPS) + 1, now do
    local hour = ((step * house.STEP_S - midnight_s) % 86400) / 3600
    flows = house.step(state, step, hour)
  end
  state.step = now
end

local function status()
  if not state.is_running then return 'standby' end
  if flows.battery_w == 0 then return 'idle' end
  return flows.battery_w > 0 and 'discharging' or 'charging'
end

local function inverter_status()
  if not state.is_running then return 'standby' end
  return flows.is_throttled and 'throttled' or 'operating'
end

local function rounded(value, digits)
  local factor = 10 ^ digits
  return math.floor(value * factor + 0.5) / factor
end

local function send_telemetry()
  local ac_w = flows.pv_w + flows.battery_w
  local battery_v = house.BATTERY_V + (house.soc_percent(state) - 50) / 25
  local battery_status = status()
  local left = string.format('%.0f %% left', house.soc_percent(state))
  enapter.send_telemetry({
    alerts = state.is_low and { 'battery_low' } or {},
    alert_details = state.is_low and { battery_low = { errmsg = left } } or nil,
    status = battery_status,
    inverter_status = inverter_status(),
    mode = state.mode,
    battery_charge_status = battery_status == 'standby' and 'idle' or battery_status,
    battery_soc = rounded(house.soc_percent(state), 1),
    battery_voltage = rounded(battery_v, 1),
    battery_current = rounded(flows.battery_w / battery_v, 1),
    battery_power = flows.battery_w,
    pv_total_power = flows.pv_w,
    grid_total_power = flows.grid_w,
    load_total_power = flows.load_w,
    ac_total_power = ac_w,
    ac_frequency = rounded(flows.frequency, 2),
    ac_l1_voltage = rounded(flows.voltage, 1),
    ac_l1_current = rounded(ac_w / flows.voltage, 1),
    ac_l1_power = ac_w,
    pv_energy_lifetime = rounded(state.pv_wh, 1),
    battery_energy_in_lifetime = rounded(state.battery_in_wh, 1),
    battery_energy_out_lifetime = rounded(state.battery_out_wh, 1),
    grid_energy_in_lifetime = rounded(state.grid_in_wh, 1),
    grid_energy_out_lifetime = rounded(state.grid_out_wh, 1),
    load_energy_lifetime = rounded(state.load_wh, 1),
    charge_limit = state.charge_limit_w,
    battery_reserve = state.reserve_percent,
  })
end

local function send_properties()
  enapter.send_properties({
    vendor = 'Simulated',
    model = 'Simulated House',
    serial_number = 'simulated',
    battery_nominal_voltage = house.BATTERY_V,
    battery_nameplate_capacity = house.CAPACITY_WH,
    battery_type = 'lithium_based',
    inverter_nameplate_capacity = house.INVERTER_W,
  })
end

local function settings()
  return { limit_w = state.charge_limit_w, mode = state.mode, reserve_percent = state.reserve_percent }
end

local function register_commands()
  -- What was until now is counted as it was.
  local function on(name, change)
    enapter.register_command_handler(name, function(_, args)
      advance()
      local answer = change(args)
      keep()
      return answer
    end)
  end
  on('start', function() state.is_running = true end)
  on('stop', function() state.is_running = false end)
  on('set_charge_limit', function(args)
    state.charge_limit_w = args.limit_w
    return { limit_w = args.limit_w }
  end)
  on('set_mode', function(args)
    state.mode, state.reserve_percent = args.mode, args.reserve_percent
    return { mode = args.mode, reserve_percent = args.reserve_percent }
  end)
  on('set_battery_soc', function(args)
    state.stored_wh = house.CAPACITY_WH * args.soc_percent / 100
    return { soc_percent = args.soc_percent }
  end)
  enapter.register_command_handler('read_settings', settings)
end

local function live()
  advance()
  -- Nothing flowed yet where a restart took less than a step.
  if flows then send_telemetry() end
  if math.abs(state.step - kept_step) >= KEPT_EVERY_STEPS then keep() end
end

function enapter.main()
  restore()
  register_commands()
  send_properties()
  live()
  scheduler.add(PERIOD_MS, live)
  scheduler.add(30000, send_properties)
end
