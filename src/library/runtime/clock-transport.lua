-- For templates without a device: there is nothing to ask, values follow from settings and the time.

local transport = {}

function transport.connect() return {} end

function transport.read() return {} end

return transport
