/**
 * Libraries of hardware that no module of software has: they are there and refuse
 * (docs/interface/lua-devices.md#absent-libraries).
 */
import type { Library } from '#scripting/lua';

const SOURCE = String.raw`
local analogout = kit.library('analogout', {})
function analogout.new() return nil, 'analogout is not supported by this module' end

local led = kit.library('led', {})
for _, name in ipairs({ 'on', 'off', 'blink' }) do
  led[name] = function() return 'led is not supported by this module' end
end
`;

export const ABSENT_LIBRARIES: Library = { name: 'absent', source: SOURCE };
