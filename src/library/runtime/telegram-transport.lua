-- Reads meters that send telegrams without being asked, for template.lua: over a serial line, TCP, or UDP to a group. The
-- decoder that main.lua gives (p1.lua, sml.lua, speedwire.lua) finds whole telegrams in what came and has their values by OBIS code.

local transport = {}

local READ_BYTES, READ_MS = 4096, 20
-- So many reads at once; what is left waits for the next time.
local READS_MAX = 16
-- Longer than any telegram. What is older than this without a whole telegram is noise.
local KEPT_BYTES = 16384

-- Of the last connection: when the settings change another one takes its place.
local open_client

local function stream_of(plan, address)
  if address:find('^port://') or address:find('^tcp%+serial://') then return serial.new(address) end
  if not address:find('://', 1, true) then address = 'tcp://' .. address end
  if not address:find(':%d+$') then address = address .. ':' .. plan.port end
  return tcp.new(address)
end

function transport.connect(plan, settings)
  if open_client and open_client.close then open_client:close() end
  open_client = nil
  local address = (settings.address or ''):gsub('%s', ''):gsub('/+$', '')
  local client = { wanted = settings.meter, bytes = '', number = 0, at = os.clock() }
  local err
  if plan.is_group then
    local group, port = address:match('^([%d.]+):?(%d*)$')
    if not group then return nil, 'the address is no multicast group' end
    client.socket, err = udp.new({ group = group, port = tonumber(port) or plan.port })
    open_client = client.socket
  else
    client.stream, err = stream_of(plan, address)
    open_client = client.stream
  end
  if err then return nil, err end
  return client
end

local function keep(client, values)
  client.number = client.number + 1
  client.values = values
  client.at = os.clock()
end

-- Returns why nothing could be read.
local function read_stream(client)
  for _ = 1, READS_MAX do
    local bytes, err = client.stream:read(READ_BYTES, READ_MS)
    if not bytes or #bytes == 0 then return err end
    client.bytes = client.bytes .. bytes
    repeat
      local values, next_at, problem = transport.decoder.next(client.bytes)
      client.bytes = client.bytes:sub(next_at)
      client.problem = problem or client.problem
      if values then keep(client, values) end
    until not values and not problem
    if #client.bytes > KEPT_BYTES then client.bytes = '' end
    if #bytes < READ_BYTES then return nil end
  end
end

local function read_socket(client)
  for _ = 1, READS_MAX do
    local bytes, err = client.socket:receive(READ_MS)
    if not bytes then return err end
    local values = transport.decoder.next(bytes, client.wanted)
    if values then
      client.wanted = values[transport.decoder.METER]
      keep(client, values)
    end
  end
end

-- The newest telegram; nil without a reason while there is none that this group has not had.
function transport.read(client, plan, group)
  local err
  if client.socket then err = read_socket(client) else err = read_stream(client) end
  if client.number == 0 and err and err ~= 'timeout' then return nil, err end
  local silent_ms = (os.clock() - client.at) * 1000
  if silent_ms > plan.stale_ms then
    local reason = client.problem or (err ~= 'timeout' and err)
    return nil, ('no whole telegram came in %d s%s'):format(silent_ms // 1000, reason and ': ' .. reason or '')
  end
  if group.number == client.number or not client.values then return nil end
  group.number, client.problem = client.number, nil
  return { client.values }
end

function transport.raw(answer, rule) return answer[rule.obis] end

return transport
