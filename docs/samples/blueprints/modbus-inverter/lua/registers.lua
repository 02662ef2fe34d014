-- The register map of the inverter and its meter, and how numbers lie in it: the high word comes first.

local registers = {
  MEASUREMENTS = { first = 0, count = 22 },
  SETTINGS = { first = 0, count = 5 },
  METER = { first = 0, count = 12 },
  RUNNING = 0,
  MODE = 1,
  CHARGE_LIMIT = 3,
}

-- Functions that take an address and give the number there, from a block that begins at `first`.
function registers.reader(block, first)
  local reader = {}

  function reader.u16(address) return block[address - first + 1] end

  function reader.i16(address)
    local value = reader.u16(address)
    return value >= 0x8000 and value - 0x10000 or value
  end

  function reader.u32(address)
    return reader.u16(address) << 16 | reader.u16(address + 1)
  end

  function reader.i32(address)
    local value = reader.u32(address)
    return value >= 0x80000000 and value - 0x100000000 or value
  end

  return reader
end

return registers
