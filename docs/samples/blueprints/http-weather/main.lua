local PERIOD_MS = 15 * 60 * 1000
local FIELDS = 'temperature_2m,shortwave_radiation,wind_speed_10m,cloud_cover'

local client = http.client({ timeout = 8 })

local function ask()
  local place, err = configuration.read('place')
  if not place then return nil, err end
  local service = configuration.read('service')
  local url = string.format(
    '%s?latitude=%.4f&longitude=%.4f&current=%s&wind_speed_unit=ms&timeformat=unixtime',
    service.url, place.latitude, place.longitude, FIELDS
  )
  local request
  request, err = http.request('GET', url)
  if not request then return nil, err end
  request:set_header('Accept', 'application/json')
  if service.api_key then request:set_header('Authorization', 'Bearer ' .. service.api_key) end

  local response
  response, err = client:do_request(request)
  if not response then return nil, err end
  if response.code ~= 200 then return nil, 'the service answers with ' .. response.code end
  local ok, document = pcall(json.decode, response.body)
  if not ok or type(document) ~= 'table' or type(document.current) ~= 'table' then
    return nil, 'the answer cannot be read'
  end
  return document.current
end

-- Returns what went wrong, if anything did.
local function update()
  if not configuration.is_all_required_set('place') then
    enapter.send_telemetry({ conn_alerts = { 'not_configured' } })
    return 'the place is not configured'
  end
  local current, err = ask()
  if not current then
    enapter.log('weather is not available: ' .. err, 'warning')
    enapter.send_telemetry({
      status = 'failed',
      conn_alerts = { 'communication_failed' },
      alert_details = { communication_failed = { errmsg = err } },
    })
    return err
  end
  enapter.send_telemetry({
    timestamp = current.time,
    status = 'ok',
    conn_alerts = {},
    ambient_temperature = current.temperature_2m,
    solar_irradiance = current.shortwave_radiation,
    wind_speed = current.wind_speed_10m,
    cloud_cover = current.cloud_cover,
  })
end

local function send_properties()
  local place = configuration.read('place') or {}
  enapter.send_properties({ latitude = place.latitude, longitude = place.longitude })
end

function enapter.main()
  configuration.after_write('place', function()
    send_properties()
    update()
  end)
  configuration.after_write('service', update)
  enapter.register_command_handler('update', function(ctx)
    local err = update()
    if err then ctx.error(err) end
  end)
  scheduler.add(30000, send_properties)
  scheduler.add(PERIOD_MS, update)
  send_properties()
  update()
end
