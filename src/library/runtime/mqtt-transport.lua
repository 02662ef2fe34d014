-- Reads topics of a broker for template.lua. A request of the plan is {topic, plain}, a step {topic, payload, retain}; {name}
-- in topics and payloads is replaced by a setting of the connection or an argument of the command.

local shared = require('json-transport')
local filled, json_text = shared.filled, shared.json_text

local transport = { raw = shared.raw }

-- Of the last connection: when the settings change another one takes its place.
local open_client

function transport.connect(plan, settings)
  if open_client then open_client:close() end
  open_client = nil
  local uri = (settings.address or ''):gsub('%s', '')
  if uri == '' then uri = 'gateway' end
  if uri ~= 'gateway' and not uri:find('://', 1, true) then uri = 'mqtt://' .. uri end
  local options
  if uri ~= 'gateway' and (settings.user or '') ~= '' then
    options = { user = settings.user, password = settings.password }
  end
  local client, err = mqtt.new(uri, options)
  open_client = client
  return client, err
end

-- A topic may end with a slash in the settings.
local function topic_of(text, args, settings)
  return (filled(text, args, settings, tostring):gsub('//+', '/'))
end

-- The newest message of each topic, unless it is too old; nil and why if there is none.
function transport.read(client, plan, group, settings)
  local answers, answered, last = {}, 0, nil
  for index, request in ipairs(group.requests) do
    local topic = topic_of(request.topic, {}, settings)
    local payload, age = client:latest(topic)
    if not payload then
      last = age
    elseif age > plan.stale_ms then
      last = ('the last message on %s is %d s old'):format(topic, age // 1000)
    else
      local is_read, content = true, payload
      if not request.plain then is_read, content = pcall(json.decode, payload) end
      if is_read then
        answers[index] = content
        answered = answered + 1
      else
        last = ('the message on %s is no JSON'):format(topic)
      end
    end
  end
  if answered == 0 and #group.requests > 0 then return nil, last end
  return answers
end

function transport.content(answer) return answer end

function transport.run(client, plan, step, args, settings)
  local topic = topic_of(step.topic, args, settings)
  local payload = filled(step.payload, args, settings, json_text)
  local ok, err = client:publish(topic, payload, { retain = step.retain })
  if not ok then return err end
end

return transport
