-- Reads and writes registers for template.lua. A request of the plan is {kind, first, count}; with `models` its first
-- register counts from the beginning of a SunSpec model, which is looked up in the device's own chain of models.

local transport = {}

-- Where the chain of SunSpec models may begin, and the text that is there.
local SUNSPEC_BASES = { 40000, 50000, 0 }
local SUNSPEC_MARK = 0x53756E53
local SUNSPEC_END = 0xFFFF
-- A function or address that a device does not have is asked for again after so many readings only.
local SKIPPED_READINGS = 300

local ILLEGAL_FUNCTION, ILLEGAL_ADDRESS = 101, 102

function transport.connect(plan, settings)
  local uri = (settings.address or ''):gsub('%s', '')
  local client, err = modbus.new(uri)
  if not client then return nil, err end
  return { modbus = client, skipped = {}, queries = {}, models = nil, is_answering = false }
end

local function unit_of(request, settings)
  if type(request.unit) == 'number' then return request.unit end
  return settings[request.unit or 'unit_id']
end

-- The first register of each SunSpec model of a unit, by its number; nil and why if there is no chain.
local function find_models(client, plan, unit)
  local last
  for _, base in ipairs(SUNSPEC_BASES) do
    local mark, err = client:read_holdings(unit, base, 2, plan.timeout_ms)
    last = err
    if mark and (mark[1] << 16 | mark[2]) == SUNSPEC_MARK then
      local models, at = {}, base + 2
      for _ = 1, 60 do
        local head, failed = client:read_holdings(unit, at, 2, plan.timeout_ms)
        if not head then return nil, failed end
        if head[1] == SUNSPEC_END or head[2] == 0 then return models end
        models[head[1]] = models[head[1]] or { first = at, count = head[2] + 2 }
        at = at + 2 + head[2]
      end
      return models
    end
  end
  return nil, last or 'the device has no SunSpec models'
end

-- What to ask for: register and count, shortened to the model's own length. Nil where the device has none of the models.
local function place(client, plan, request, unit)
  if not request.models then return request.first, request.count end
  client.models = client.models or {}
  if not client.models[unit] then
    local models, err = find_models(client.modbus, plan, unit)
    if not models then return nil, err end
    client.models[unit] = models
  end
  for _, number in ipairs(request.models) do
    local model = client.models[unit][number]
    if model then
      if request.first >= model.count then return nil end
      return model.first + request.first, math.min(request.count, model.count - request.first)
    end
  end
  return nil
end

local KINDS = { input = 'inputs', holding = 'holdings', coil = 'coils', discrete = 'discrete_inputs' }

-- Requests in one call of the module once the device answers: a device that falls silent costs their timeouts.
local TOGETHER = 4

-- The query of a request, made once for a connection; false where the device has none of the models.
local function query_of(client, plan, request, settings)
  local query = client.queries[request]
  if query ~= nil then return query end
  local unit = unit_of(request, settings)
  local first, count = place(client, plan, request, unit)
  if not first and count then return nil, count end
  query = first and { type = KINDS[request.kind], addr = unit, reg = first, count = count, timeout = plan.timeout_ms }
  client.queries[request] = query or false
  return query
end

-- Numbers of the requests that are due, and their queries; nil and why if a place cannot be found.
local function due_of(client, plan, group, settings)
  local numbers, queries = {}, {}
  for number, request in ipairs(group.requests) do
    local skipped = client.skipped[request]
    if skipped then
      client.skipped[request] = skipped > 1 and skipped - 1 or nil
    else
      local query, err = query_of(client, plan, request, settings)
      if err then return nil, err end
      if query then
        numbers[#numbers + 1] = number
        queries[#queries + 1] = query
      end
    end
  end
  return numbers, queries
end

-- Answers by the number of the request; nil and why if none was answered.
function transport.read(client, plan, group, settings)
  local numbers, queries = due_of(client, plan, group, settings)
  if not numbers then return nil, queries end
  local answers, answered, last = {}, 0, nil
  local width = client.is_answering and not plan.pause_ms and TOGETHER or 1
  for at = 1, #queries, width do
    -- A device that does not answer at all is not asked for the rest.
    if answered == 0 and at > 2 then break end
    local results, err = client.modbus:read({ table.unpack(queries, at, math.min(at + width - 1, #queries)) })
    last = err or last
    for offset, result in ipairs(results or {}) do
      local number, query = numbers[at + offset - 1], queries[at + offset - 1]
      local code = result.errcode
      if result.data then
        answers[number] = result.data
        answered = answered + 1
      elseif code == ILLEGAL_FUNCTION or code == ILLEGAL_ADDRESS then
        client.skipped[group.requests[number]] = SKIPPED_READINGS
        answered = answered + 1
        enapter.log('The device has no ' .. query.type .. ' ' .. query.reg .. ' to '
          .. (query.reg + query.count - 1) .. ': ' .. tostring(result.errmsg), 'info')
      else
        last = result.errmsg
      end
    end
    if plan.pause_ms then system.delay(plan.pause_ms) end
  end
  client.is_answering = answered > 0
  if #queries > 0 and answered == 0 then return nil, last end
  return answers
end

local SIGN = { i16 = 1 << 15, i32 = 1 << 31 }
local SIZE = { u16 = 1, i16 = 1, u32 = 2, i32 = 2, u64 = 4, i64 = 4, f32 = 2, f64 = 4 }
local FORMAT = { f32 = '>f', f64 = '>d' }

local function text_of(answer, index, count)
  local bytes = {}
  for i = 0, count - 1 do
    local word = answer[index + i]
    if word == nil then return nil end
    bytes[#bytes + 1] = string.char(word >> 8, word & 0xFF)
  end
  local text = table.concat(bytes):gsub('%z.*', ''):gsub('^%s+', ''):gsub('%s+$', '')
  return text ~= '' and text or nil
end

-- A number out of registers; nil if they are not there or a float is none.
local function number_of(answer, index, kind, low_first)
  local size = SIZE[kind]
  local bits = 0
  for i = 0, size - 1 do
    local word = answer[index + (low_first and size - 1 - i or i)]
    if word == nil then return nil end
    bits = bits << 16 | word
  end
  if FORMAT[kind] then
    local value = string.unpack(FORMAT[kind], string.pack(size == 2 and '>I4' or '>i8', bits))
    if value ~= value or value == math.huge or value == -math.huge then return nil end
    return value
  end
  local sign = SIGN[kind]
  if sign and bits >= sign then return bits - sign * 2 end
  -- Beyond 63 bits a number is a float.
  if kind == 'u64' and bits < 0 then return (bits >> 1) * 2.0 + (bits & 1) end
  return bits
end

-- The commonest ones without a loop: every sample of every value runs them.
local function number_reader(at, kind, low_first)
  if kind == 'u16' then return function(answer) return answer[at] end end
  local high, low = low_first and at + 1 or at, low_first and at or at + 1
  if kind == 'f32' then
    local pack, unpack = string.pack, string.unpack
    return function(answer)
      local first, second = answer[high], answer[low]
      return first and second and (unpack('>f', pack('>I2I2', first, second)))
    end
  end
  if kind == 'u32' then
    return function(answer)
      local first, second = answer[high], answer[low]
      return first and second and first << 16 | second
    end
  end
  return function(answer) return number_of(answer, at, kind, low_first) end
end

-- What reads the raw value of a rule out of the answer of its request, and the power of ten of its scale register.
function transport.reader(rule)
  if rule.chars then return function(answer) return text_of(answer, rule.at, rule.chars) end end
  local raw = number_reader(rule.at, rule.as, rule.low_first)
  if not rule.has_exponent then return raw end
  local exponent_of = number_reader(rule.exponent_at, 'i16')
  return function(answer)
    local exponent = exponent_of(answer)
    if exponent and (exponent < -10 or exponent > 10) then exponent = nil end
    return raw(answer), exponent
  end
end

local function words_of(kind, value, low_first)
  local size = SIZE[kind]
  local bits
  if FORMAT[kind] then
    bits = string.unpack(size == 2 and '>I4' or '>i8', string.pack(FORMAT[kind], value))
  else
    bits = math.tointeger(value) or math.floor(value + 0.5)
  end
  local words = {}
  for i = 1, size do
    local place_of_word = low_first and i or size + 1 - i
    words[place_of_word] = bits & 0xFFFF
    bits = bits >> 16
  end
  return words
end

-- Performs one writing step. Returns an error or nil.
function transport.run(client, plan, step, args, settings)
  local write = step.write
  local value = write.argument and args[write.argument] or write.value
  if write.map then value = write.map[tostring(value)] end
  if type(value) == 'boolean' then value = value and 1 or 0 end
  if type(value) ~= 'number' then return 'there is no value to write' end
  local unit = unit_of(write, settings)
  if write.coil then return client.modbus:write_coil(unit, write.coil, value ~= 0 and 1 or 0, plan.timeout_ms) end
  local register, scale = write.holding, write.scale
  if write.models then
    local first, err = place(client, plan, { models = write.models, first = write.first, count = 1 }, unit)
    if not first then return err or 'the device has no such model' end
    register = first
    if write.exponent_first then
      local base = first - write.first
      local exponent, failed = client.modbus:read_holdings(unit, base + write.exponent_first, 1, plan.timeout_ms)
      if not exponent then return failed end
      local power = exponent[1] >= 0x8000 and exponent[1] - 0x10000 or exponent[1]
      if power < -10 or power > 10 then return 'the device says no scale' end
      scale = 10.0 ^ power
    end
  end
  if scale then value = value / scale end
  local words = words_of(write.as, value, write.low_first)
  if #words == 1 and write.fn ~= 16 then
    return client.modbus:write_holding(unit, register, words[1], plan.timeout_ms)
  end
  return client.modbus:write_multiple_holdings(unit, register, words, plan.timeout_ms)
end

return transport
