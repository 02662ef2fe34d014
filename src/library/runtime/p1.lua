-- Telegrams of the P1 port (DSMR, ESMR, eMUCs): text from '/' to '!' and its checksum. Values are in W, Wh, V, A and m3.

local p1 = {}

local CRC_TABLE = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do crc = crc & 1 ~= 0 and crc >> 1 ~ 0xA001 or crc >> 1 end
  CRC_TABLE[byte] = crc
end

-- CRC16 with the reflected polynomial 0xA001 from 0, as the standard of the P1 port has it.
local function crc_of(text)
  local crc = 0
  for at = 1, #text do crc = crc >> 8 ~ CRC_TABLE[(crc ~ text:byte(at)) & 0xFF] end
  return crc
end

-- By integers, so that 1.001 kW are 1001 W exactly.
local function number_of(digits, unit)
  local whole, fraction = digits:match('^(%d+)%.?(%d*)$')
  if not whole or #whole + #fraction > 18 then return nil end
  local factor = unit:find('^k') and 1000 or 1
  local number = tonumber(whole .. fraction) * factor
  return #fraction == 0 and number or number / 10 ^ #fraction
end

-- Ids are written as hexadecimal ASCII.
local function id_of(content)
  if #content == 0 or #content % 2 == 1 or content:find('%X') then return content end
  local text = content:gsub('%x%x', function(pair) return string.char(tonumber(pair, 16)) end)
  return text:find('[^\32-\126]') and content or text
end

-- The last bracket of a line has the value; those before it say since when.
local function value_of(code, brackets)
  local content = brackets:match('%(([^()]*)%)%s*$')
  if not content then return nil end
  if code:find(':96%.1%.') then return id_of(content) end
  local digits, unit = content:match('^([%d.]+)%*?(.*)$')
  return digits and number_of(digits, unit) or content
end

-- Meters behind the electricity meter have a channel each; by their kind (003 gas, 007 water) the channel does not matter.
local function add_channels(values)
  for channel = 1, 4 do
    local kind = values[('0-%d:24.1.0'):format(channel)]
    for _, code in ipairs(kind and { '24.2.1', '24.2.3', '24.3.0' } or {}) do
      local value = values[('0-%d:%s'):format(channel, code)]
      if value then values[('kind %03d:%s'):format(kind, code)] = value end
    end
  end
end

local function values_of(text)
  local values = {}
  -- Gas of DSMR 2 and 3 has its number on a line of its own.
  for line in text:gsub('\r?\n%(', '('):gmatch('[^\r\n]+') do
    local code, brackets = line:match('^(%d+%-%d+:%d+%.%d+%.%d+)(%(.*)$')
    if code then values[code] = value_of(code, brackets) end
  end
  add_channels(values)
  return values
end

-- Values of the first whole telegram; from where the rest is of use; and what was wrong with a telegram.
function p1.next(bytes)
  local stop, line_end, sum = bytes:find('!(%x?%x?%x?%x?)\r?\n')
  if not stop then return nil, bytes:find('/[^/]*$') or #bytes + 1 end
  -- A telegram that was cut is followed by the next one.
  local text = bytes:sub(1, stop):match('/[^/]*$')
  if not text then return nil, line_end + 1, 'the beginning of a telegram is missing' end
  -- Versions before 4 have none.
  local needs_sum = sum ~= '' or text:find('1-3:0.2.8(', 1, true) or text:find('0-0:96.1.4(', 1, true)
  if needs_sum and not (#sum == 4 and tonumber(sum, 16) == crc_of(text)) then
    return nil, line_end + 1, 'the checksum of a telegram is wrong'
  end
  return values_of(text), line_end + 1
end

return p1
