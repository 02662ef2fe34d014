-- Reads topics of a broker for template.lua. A request of the plan is {topic, plain}, a step {topic, payload, retain}; {name}
-- in topics and payloads is replaced by a setting of the connection or an argument of the command.

local transport = {}

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

local function json_text(value)
  if type(value) ~= 'string' then return tostring(value) end
  return (json.encode(value):sub(2, -2))
end

-- Whole numbers without a fraction, so that a device that reads digits only understands them.
local function plain(value)
  if math.type(value) == 'float' and value == math.floor(value) then return math.tointeger(value) end
  return value
end

local function filled(text, args, settings, escape)
  return (text:gsub('{([a-z][a-z0-9_]*)}', function(name)
    local value = args[name]
    if value == nil then value = settings[name] end
    if value ~= nil then return escape(plain(value)) end
  end))
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

-- The member of a list whose `key` is `equals`.
local function member(list, part)
  for _, item in ipairs(list) do
    if type(item) == 'table' and tostring(item[part.key]) == part.equals then return item end
  end
end

-- Follows the path of a rule into the message: names, positions from 0, and members by a field.
function transport.raw(answer, rule)
  local value = answer
  for _, part in ipairs(rule.path) do
    if type(value) ~= 'table' then return nil end
    if type(part) == 'number' then
      value = value[part + 1]
    elseif type(part) == 'table' then
      value = member(value, part)
    else
      value = value[part]
    end
  end
  if type(value) == 'table' then return nil end
  return value
end

function transport.run(client, plan, step, args, settings)
  local topic = topic_of(step.topic, args, settings)
  local payload = filled(step.payload, args, settings, json_text)
  local ok, err = client:publish(topic, payload, { retain = step.retain })
  if not ok then return err end
end

return transport
