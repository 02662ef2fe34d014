-- What the transports of texts share: {name} in texts, and the way to a value in JSON.

local shared = {}

-- Inside of a JSON text: quotes and control characters are escaped.
function shared.json_text(value)
  if type(value) ~= 'string' then return tostring(value) end
  return (json.encode(value):sub(2, -2))
end

-- Whole numbers without a fraction, so that a device that reads digits only understands them.
local function plain(value)
  if math.type(value) == 'float' and value == math.floor(value) then return math.tointeger(value) end
  return value
end

-- Each {name} is replaced by an argument of the command or a setting of the connection, {name*1000} by a thousand times
-- that; an unknown one stays.
function shared.filled(text, args, settings, escape)
  if not text then return nil end
  return (text:gsub('{([a-z][a-z0-9_]*)%*?(%d*)}', function(name, factor)
    local value = args[name]
    if value == nil then value = settings[name] end
    if factor ~= '' and type(value) == 'number' then value = value * tonumber(factor) end
    if value ~= nil then return escape(plain(value)) end
  end))
end

-- The member of a list whose `key` is `equals`.
local function member(list, part)
  for _, item in ipairs(list) do
    if type(item) == 'table' and tostring(item[part.key]) == part.equals then return item end
  end
end

-- Follows a path into an answer: names, positions from 0, and members by a field. A name may have {name} of `named`.
function shared.at(answer, path, named)
  local value = answer
  for _, part in ipairs(path) do
    if type(value) ~= 'table' then return nil end
    if type(part) == 'number' then
      value = value[part + 1]
    elseif type(part) == 'table' then
      value = member(value, part)
    else
      value = value[named and shared.filled(part, {}, named, tostring) or part]
    end
  end
  return value
end

-- The raw value of a rule; nil for a list or an object.
function shared.raw(answer, rule, named)
  local value = shared.at(answer, rule.path, named)
  if type(value) == 'table' then return nil end
  return value
end

return shared
