-- Asks an HTTP interface for template.lua. A request of the plan is {method, path, body}; {name} in paths and bodies is
-- replaced by a setting of the connection or an argument of the command. The path `.` is the address itself.

local shared = require('json-transport')
local filled, json_text = shared.filled, shared.json_text

local transport = {}

local function base_of(plan, settings)
  if plan.url then return plan.url end
  local address = (settings.address or ''):gsub('%s', ''):gsub('/+$', '')
  if address == '' then return nil, 'the address is empty' end
  if address:find('^https?://') then return address end
  if plan.port and not address:find(':%d+$') then address = address .. ':' .. plan.port end
  return plan.scheme .. '://' .. address
end

function transport.connect(plan, settings)
  local base, err = base_of(plan, settings)
  if not base then return nil, err end
  local options = { timeout = plan.timeout_s, insecure_tls = plan.own_certificate }
  if plan.auth == 'digest' and (settings.password or '') ~= '' then
    options.digest_auth = { user = settings.user or plan.user or '', password = settings.password }
  end
  return { http = http.client(options), base = base }
end

local function escaped(value)
  return (tostring(value):gsub('[^%w%-%._~]', function(char) return ('%%%02X'):format(char:byte()) end))
end

-- The settings, and beside them the moments of the plan as texts.
local function with_moments(plan, settings)
  local named = {}
  for name, moment in pairs(plan.moments or {}) do
    local now = os.time()
    local at = now - now % (moment.step_min * 60) + moment.ahead_min * 60
    named[name] = moment.format and os.date('!' .. moment.format, at) or tostring(at)
  end
  return setmetatable(named, { __index = settings })
end

local function ask(client, plan, request, args, settings)
  local path = request.path == '.' and '' or filled(request.path, args, settings, escaped)
  local body = filled(request.body, args, settings, json_text)
  local asked = http.request(request.method, client.base .. path, body)
  if body then asked:set_header('Content-Type', request.content_type or 'application/json') end
  for name, value in pairs(request.headers or {}) do
    asked:set_header(name, filled(value, args, settings, tostring))
  end
  local password = settings.password or ''
  if plan.auth == 'basic' and password ~= '' then
    asked:set_basic_auth(settings.user or plan.user or '', password)
  elseif plan.auth == 'bearer' and password ~= '' then
    asked:set_header('Authorization', 'Bearer ' .. password)
  end
  local answer, err = client.http:do_request(asked)
  if not answer then return nil, err end
  if answer.code == 401 or answer.code == 403 then return nil, 'the device refuses user or password' end
  if answer.code < 200 or answer.code > 299 then return nil, 'the device answered ' .. answer.code end
  return answer.body
end

-- An answer as template.lua takes it; nil and why it is none.
local function answer_of(request, body, settings)
  if request.csv then
    local rule = { header = request.csv.header }
    for _, name in ipairs({ 'separator', 'decimal' }) do
      rule[name] = filled(request.csv[name], {}, settings, tostring)
    end
    if rule.separator == '' then return nil, 'the separator of the CSV file is empty' end
    local rows, err = require('csv').rows(body, rule)
    return rows and { content = rows, is_csv = true }, err
  end
  local is_json, content = pcall(json.decode, body)
  if is_json then return { content = content } end
  return nil, 'the answer is no JSON'
end

function transport.read(client, plan, group, settings)
  local answers, answered, last = {}, 0, nil
  local named = with_moments(plan, settings)
  for index, request in ipairs(group.requests) do
    local body, err = ask(client, plan, request, {}, named)
    local answer
    if body then answer, err = answer_of(request, body, named) end
    if answer then
      answer.named = named
      answers[index] = answer
      answered = answered + 1
    else
      last = err
    end
  end
  if answered == 0 then return nil, last end
  return answers
end

function transport.raw(answer, rule)
  local value = shared.raw(answer.content, rule, answer.named)
  if answer.is_csv and type(value) == 'string' then return answer.content.number(value) or value end
  return value
end

function transport.content(answer) return answer.content end

function transport.run(client, plan, step, args, settings)
  local _, err = ask(client, plan, step, args, settings)
  return err
end

return transport
