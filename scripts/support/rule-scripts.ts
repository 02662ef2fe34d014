/** Scripts of rules for benchmarks. */

/** How a script learns that there is a new value. */
export type Reaction = 'on_update' | 'loop' | 'scheduler';

const BEGIN: Record<Reaction, string> = {
  on_update: "first.telemetry.on_update('battery_soc', react)",
  loop: 'while true do react() system.delay(10) end',
  scheduler: 'scheduler.add(50, react)',
};

/** Reads two devices and commands a third as soon as the first one's charge is another one. */
export function reactingRule(reaction: Reaction, [first, second, third]: [string, string, string]): string {
  return `
local first, second, third = enapter.device('${first}'), enapter.device('${second}'), enapter.device('${third}')
local last
local function react()
  local charge, other = first.telemetry.now('battery_soc'), second.telemetry.now('battery_soc')
  if not charge or not other or charge == last then return end
  last = charge
  local _, problem = third.execute_command('set_charge_limit', { limit_w = charge })
  if problem then enapter.log(problem, 'error') end
end
${BEGIN[reaction]}
`;
}

/** The attributes that a realistic rule reads. */
interface ReadNames {
  soc: string;
  power: string;
  temperature: string;
}

const BATTERY_INVERTER: ReadNames = {
  soc: 'battery_soc',
  power: 'battery_power',
  temperature: 'battery_temperature',
};

/** Watches a few devices once a second, keeps averages and a small table, and speaks when something is wrong. */
export function realisticRule(index: number, slugs: readonly string[], names = BATTERY_INVERTER): string {
  const own = [0, 1, 2].map((step) => `'${slugs[(index + step) % slugs.length]}'`).join(', ');
  return `
local settings = {
  devices = { ${own} },
  low_soc = 20, high_soc = 95, hot_celsius = 45, window = 60,
  quiet_from = '22:00', quiet_to = '06:00',
}

local Window = {}
Window.__index = Window
function Window.new(size) return setmetatable({ size = size, values = {}, at = 0, sum = 0 }, Window) end
function Window:add(value)
  self.at = self.at % self.size + 1
  self.sum = self.sum - (self.values[self.at] or 0) + value
  self.values[self.at] = value
end
function Window:average()
  if #self.values == 0 then return nil end
  return self.sum / #self.values
end

local function clamp(value, low, high) return math.max(low, math.min(high, value)) end

local watched = {}
for _, slug in ipairs(settings.devices) do
  watched[slug] = {
    power = Window.new(settings.window), soc = Window.new(settings.window),
    state = 'unknown', since = os.time(), changes = 0,
  }
end

local function judge(soc, temperature)
  if not soc then return 'silent' end
  if temperature and temperature > settings.hot_celsius then return 'hot' end
  if soc < settings.low_soc then return 'low' end
  if soc > settings.high_soc then return 'full' end
  return 'fine'
end

local function note(slug, entry, state)
  if state == entry.state then return end
  entry.state, entry.since, entry.changes = state, os.time(), entry.changes + 1
  if entry.changes % 100 == 1 then
    enapter.log(string.format('%s is %s after %d changes', slug, state, entry.changes))
  end
end

scheduler.add(1000, function()
  local total, count = 0, 0
  for slug, entry in pairs(watched) do
    local device = enapter.device(slug)
    if device then
      local soc = device.telemetry.now('${names.soc}')
      local power = device.telemetry.now('${names.power}')
      note(slug, entry, judge(soc, device.telemetry.now('${names.temperature}')))
      if power then entry.power:add(power) total, count = total + power, count + 1 end
      if soc then entry.soc:add(clamp(soc, 0, 100)) end
    end
  end
  if count > 0 and not time.is_now_between(settings.quiet_from, settings.quiet_to) then
    last_average = total / count
  end
end)
`;
}
