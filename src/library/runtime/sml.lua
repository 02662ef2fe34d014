-- Telegrams of the Smart Message Language: binary, from 1B1B1B1B 01010101 to 1B1B1B1B 1A and its checksum. Values have the
-- scaler of their entry: W, Wh, V, A, Hz.

local sml = {}

local ESCAPE = '\x1B\x1B\x1B\x1B'
local START = ESCAPE .. '\1\1\1\1'
local GET_LIST_RESPONSE = 0x0701
local DEPTH_MAX = 8

local CRC_TABLE = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do crc = crc & 1 ~= 0 and crc >> 1 ~ 0x8408 or crc >> 1 end
  CRC_TABLE[byte] = crc
end

local function crc_from(crc, bytes)
  for at = 1, #bytes do crc = crc >> 8 ~ CRC_TABLE[(crc ~ bytes:byte(at)) & 0xFF] end
  return crc
end

-- CRC-16/X-25; some meters of Holley have CRC-16/Kermit instead.
local function fits(bytes, sum)
  return crc_from(0xFFFF, bytes) ~ 0xFFFF == sum or crc_from(0, bytes) == sum
end

local INTEGER = { [5] = '>i%d', [6] = '>I%d' }

-- The element at a place, and where the next one is. Raises an error where the text ends too early.
local function element(text, at, depth)
  local first = text:byte(at)
  if not first or depth > DEPTH_MAX then error('cut') end
  local kind, length, head = first >> 4 & 7, first & 15, 1
  local byte = first
  while byte & 0x80 ~= 0 do
    byte = text:byte(at + head) or error('cut')
    length, head = length << 4 | byte & 15, head + 1
  end
  if kind == 7 then
    local list, next_at = {}, at + head
    for index = 1, length do list[index], next_at = element(text, next_at, depth + 1) end
    return list, next_at
  end
  -- The end of a message is a zero byte.
  if first == 0 then return nil, at + 1 end
  local content = text:sub(at + head, at + length - 1)
  if length < head or #content ~= length - head then error('cut') end
  if kind == 0 then return content, at + length end
  if kind == 4 then return content:byte() ~= 0, at + length end
  if not INTEGER[kind] or #content < 1 or #content > 8 then error('cut') end
  return string.unpack(INTEGER[kind]:format(#content), content), at + length
end

local function code_of(name)
  local a, b, c, d, e, f = name:byte(1, 6)
  local code = ('%d-%d:%d.%d.%d'):format(a, b, c, d, e)
  return f == 255 and code or ('%s*%d'):format(code, f)
end

-- Ids of meters as they are printed on them (DIN 43863-5); other bytes in hex unless they are text.
local function text_of(content)
  if #content == 10 and content:find('^[\9\10]') then
    local medium, maker, block, number = string.unpack('>xBc3BI4', content)
    if maker:find('^%u%u%u$') then return ('%d%s%02X%08d'):format(medium, maker, block, number) end
  end
  if content ~= '' and not content:find('[^\32-\126]') then return content end
  return (content:gsub('.', function(char) return ('%02X'):format(char:byte()) end))
end

local function add_entries(values, list)
  for _, entry in ipairs(list) do
    if type(entry) == 'table' and type(entry[1]) == 'string' and #entry[1] == 6 then
      local value, scaler = entry[6], entry[5]
      if type(value) == 'string' then value = text_of(value) end
      if math.type(value) == 'integer' and math.type(scaler) == 'integer' then
        -- A division, so that tenths have their exact form.
        value = scaler < 0 and value / 10 ^ -scaler or value * 10 ^ scaler
      end
      values[code_of(entry[1])] = value
    end
  end
end

local function values_of(text)
  local values, at = {}, 1
  while at <= #text do
    local message
    message, at = element(text, at, 0)
    local body = type(message) == 'table' and message[4]
    local content = type(body) == 'table' and body[1] == GET_LIST_RESPONSE and body[2]
    if type(content) == 'table' and type(content[5]) == 'table' then add_entries(values, content[5]) end
  end
  return values
end

-- Where the escape is that ends a telegram. One that stands for four bytes of data is doubled.
local function end_of(bytes, at)
  while true do
    local found = bytes:find(ESCAPE, at, true)
    if not found then return nil end
    if bytes:sub(found + 4, found + 7) ~= ESCAPE then return found end
    at = found + 8
  end
end

-- Values of the first whole telegram; from where the rest is of use; and what was wrong with a telegram.
function sml.next(bytes)
  local start = bytes:find(START, 1, true)
  if not start then return nil, math.max(1, #bytes - #START + 2) end
  local stop = end_of(bytes, start + #START)
  if not stop or stop + 7 > #bytes then return nil, start end
  local mark, fill, low, high = bytes:byte(stop + 4, stop + 7)
  -- The next one began before this one ended.
  if mark ~= 0x1A then return nil, stop, 'the end of a telegram is missing' end
  if not fits(bytes:sub(start, stop + 5), high << 8 | low) then
    return nil, stop + 8, 'the checksum of a telegram is wrong'
  end
  local text = bytes:sub(start + #START, stop - 1 - fill):gsub(ESCAPE .. ESCAPE, ESCAPE)
  local is_read, values = pcall(values_of, text)
  if not is_read then return nil, stop + 8, 'a telegram is no SML' end
  return values, stop + 8
end

return sml
