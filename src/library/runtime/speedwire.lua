-- Datagrams of SMA meters (Speedwire, protocol 6069): values by channel, index, kind and tariff. Powers are in 0.1 W, counters
-- in Ws, currents in mA, voltages in mV.

-- The code of the number of the meter.
local speedwire = { METER = '0-0:96.1.0' }

local MARK = 'SMA\0\0\4\2\xA0'
local PROTOCOL_AT, METER_AT, VALUES_AT = 17, 21, 29
local METER_PROTOCOL = 0x6069
-- Length of a value by its kind: of the moment, and of a counter.
local SIZE = { [4] = 4, [8] = 8 }
local VERSION_CHANNEL = 144

-- Values of a datagram; nil when it is of something else than the wanted meter. Several meters may send to one group.
function speedwire.next(bytes, wanted)
  if #bytes < VALUES_AT + 4 or bytes:sub(1, #MARK) ~= MARK then return nil end
  if string.unpack('>I2', bytes, PROTOCOL_AT) ~= METER_PROTOCOL then return nil end
  local meter = tostring(string.unpack('>I4', bytes, METER_AT))
  if (wanted or '') ~= '' and wanted ~= meter then return nil end
  local values, at = { [speedwire.METER] = meter }, VALUES_AT
  while at + 7 <= #bytes do
    local channel, index, kind, tariff = bytes:byte(at, at + 3)
    local size = channel == VERSION_CHANNEL and 4 or SIZE[kind]
    if not size or at + 3 + size > #bytes then break end
    if channel == 0 then
      values[('1-0:%d.%d.%d'):format(index, kind, tariff)] = string.unpack('>I' .. size, bytes, at + 4)
    end
    at = at + 4 + size
  end
  return values
end

return speedwire
