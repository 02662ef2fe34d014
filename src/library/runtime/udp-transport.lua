-- Asks by datagrams for template.lua. A request of the plan is {send, answer}: a text, and the fields that tell its answer
-- from others; a step is {send, answer}: a text, and how the answer begins.

local shared = require('json-transport')

local transport = {}

-- Of the last connection: when the settings change another one takes its place.
local open_socket

function transport.connect(plan, settings)
  if open_socket then open_socket:close() end
  local address = (settings.address or ''):gsub('%s', '')
  if address == '' then return nil, 'the address is empty' end
  local host, port = address:match('^(.+):(%d+)$')
  local err
  open_socket, err = udp.new({ port = plan.own_port })
  if not open_socket then return nil, err end
  return { socket = open_socket, host = host or address, port = tonumber(port) or plan.port }
end

-- What comes late, or was not asked for, is no answer.
local function drain(client)
  repeat local bytes = client.socket:receive(0) until not bytes
end

-- Readings and commands wait for each other, because an answer does not say which question it belongs to. By a time, since
-- a call that is aborted does not free the socket.
local function take(client, plan)
  while os.clock() < (client.taken_until or 0) do system.delay(10) end
  client.taken_until = os.clock() + (plan.pause_ms + plan.timeout_ms) / 1000 + 1
end

-- The first datagram that `is_answer` takes, within the time of the plan.
local function question(client, plan, text, is_answer)
  if client.asked_at then
    local rest_ms = plan.pause_ms - (os.clock() - client.asked_at) * 1000
    if rest_ms > 0 then system.delay(math.ceil(rest_ms)) end
  end
  drain(client)
  local sent, err = client.socket:send(text, client.host, client.port)
  client.asked_at = os.clock()
  if not sent then return nil, err end
  while true do
    local rest_ms = plan.timeout_ms - (os.clock() - client.asked_at) * 1000
    if rest_ms <= 0 then return nil, ('no answer to "%s"'):format(text) end
    local bytes = client.socket:receive(math.ceil(rest_ms))
    local answer = bytes and is_answer(bytes)
    if answer then return answer end
  end
end

local function ask(client, plan, text, is_answer)
  take(client, plan)
  local answer, err = question(client, plan, text, is_answer)
  client.taken_until = nil
  return answer, err
end

local function json_answer(request)
  return function(bytes)
    local is_json, content = pcall(json.decode, bytes)
    if not is_json or type(content) ~= 'table' then return nil end
    for name, value in pairs(request.answer) do
      if tostring(content[name]) ~= value then return nil end
    end
    return content
  end
end

function transport.read(client, plan, group)
  local answers, answered, last = {}, 0, nil
  for index, request in ipairs(group.requests) do
    local content, err = ask(client, plan, request.send, json_answer(request))
    answers[index] = content
    if content then answered = answered + 1 else last = err end
  end
  if answered == 0 then return nil, last end
  return answers
end

transport.raw = shared.raw

function transport.run(client, plan, step, args, settings)
  local text = shared.filled(step.send, args, settings, tostring)
  local _, err = ask(client, plan, text, function(bytes) return bytes:sub(1, #step.answer) == step.answer end)
  return err
end

return transport
