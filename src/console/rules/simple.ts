/** Scripts of the commonest rules, written from a few answers. Pure. */
import type { DurationS } from '../../lib/time.ts';

interface RuleAction {
  /** Slug of the device. */
  device: string;
  command: string;
  arguments: Readonly<Record<string, unknown>>;
}

interface LimitRule {
  device: string;
  attribute: string;
  isAbove: boolean;
  limit: number;
  holdS: DurationS;
  action: RuleAction;
}

interface TimeRule {
  /** `22:00`, in the zone of the site. */
  clock: string;
  days: 'all' | 'workdays' | 'weekend';
  action: RuleAction;
}

interface SurplusRule {
  /** Slug of the device that measures the grid. */
  device: string;
  attribute: string;
  /** A positive number is power from the grid. */
  isImportPositive: boolean;
  /** Watts in one of what it is measured in. */
  wattsOfOne: number;
  exportW: number;
  importW: number;
  holdS: DurationS;
  on: RuleAction;
  off: RuleAction;
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r' };

/** A text as Lua writes it, whatever is in it. */
export function luaText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is escaped
  const escaped = text.replaceAll(/["\\\u0000-\u001f\u007f]/g, (char) => {
    return ESCAPES[char] ?? `\\${String(char.charCodeAt(0)).padStart(3, '0')}`;
  });
  return `"${escaped}"`;
}

/** A value of JSON as Lua writes it. */
export function luaValue(value: unknown): string {
  if (value === null || value === undefined) return 'nil';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return luaText(value);
  if (Array.isArray(value)) return `{ ${value.map(luaValue).join(', ')} }`;
  const members = Object.entries(value).map(([key, member]) => `[${luaText(key)}] = ${luaValue(member)}`);
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** One line of comment, whatever is in the text. */
const comment = (text: string): string => `-- ${text.replaceAll(/\s+/g, ' ')}`;

const RUN = `-- Whether the command was done; if not, it is tried again at the next look.
local function run(action)
  local device, message = enapter.device(action.device)
  if device then _, message = device.execute_command(action.command, action.arguments) end
  if message then
    enapter.log(action.device .. ': ' .. action.command .. ' failed: ' .. message, 'error')
    return false
  end
  enapter.log(action.device .. ': ' .. action.command)
  return true
end`;

function luaAction({ device, command, arguments: given }: RuleAction): string {
  return `{ device = ${luaText(device)}, command = ${luaText(command)}, arguments = ${luaValue(given)} }`;
}

export function limitScript({ device, attribute, isAbove, limit, holdS, action }: LimitRule): string {
  const side = isAbove ? 'above' : 'below';
  return `${comment(`Runs ${action.command} of ${action.device} when ${attribute} of ${device} is ${side} ${limit} for ${holdS} s.`)}
local LIMIT, HOLD_S = ${luaValue(limit)}, ${luaValue(holdS)}
local ACTION = ${luaAction(action)}

local watched = assert(enapter.device(${luaText(device)}))
local since, is_done

${RUN}

local function look()
  local value = watched.telemetry.now(${luaText(attribute)}, '1m')
  -- Without a fresh value nothing is known, and nothing is done.
  if value == nil or not (value ${isAbove ? '>' : '<'} LIMIT) then
    since, is_done = nil, false
    return
  end
  since = since or os.time()
  if not is_done and os.time() - since >= HOLD_S then is_done = run(ACTION) end
end

watched.telemetry.on_update(${luaText(attribute)}, look)
scheduler.add(10000, look)
`;
}

const DAYS = { all: '*', workdays: '1-5', weekend: '0,6' } as const;

export function timeScript({ clock, days, action }: TimeRule): string {
  const [hour = 0, minute = 0] = clock.split(':').map(Number);
  return `${comment(`Runs ${action.command} of ${action.device} at ${clock} in the time zone of the site.`)}
local ACTION = ${luaAction(action)}

${RUN}

scheduler.add_cron(${luaText(`${minute} ${hour} * * ${DAYS[days]}`)}, function() run(ACTION) end)
`;
}

export function surplusScript(rule: SurplusRule): string {
  const { device, attribute, isImportPositive, wattsOfOne, exportW, importW, holdS, on, off } = rule;
  return `${comment(`Uses surplus: ${on.command} of ${on.device} while power is exported, ${off.command} of ${off.device} when it is imported.`)}
local EXPORT_W, IMPORT_W, HOLD_S = ${luaValue(exportW)}, ${luaValue(importW)}, ${luaValue(holdS)}
local FACTOR = ${luaValue(isImportPositive ? wattsOfOne : -wattsOfOne)} -- times the measured number: watts from the grid
local ON = ${luaAction(on)}
local OFF = ${luaAction(off)}

local grid = assert(enapter.device(${luaText(device)}))
local is_on, since

${RUN}

-- What is wanted now; nil: leave it as it is.
local function wanted()
  local power = grid.telemetry.now(${luaText(attribute)}, '1m')
  -- Without fresh values nothing is switched on, and what is on goes off.
  if power == nil then return false end
  local import_w = power * FACTOR
  if import_w <= -EXPORT_W then return true end
  if import_w >= IMPORT_W then return false end
end

local function look()
  local is_wanted = wanted()
  if is_wanted == nil or is_wanted == is_on then
    since = nil
    return
  end
  since = since or os.time()
  if os.time() - since < HOLD_S then return end
  since = nil
  if run(is_wanted and ON or OFF) then is_on = is_wanted end
end

grid.telemetry.on_update(${luaText(attribute)}, look)
scheduler.add(10000, look)
`;
}
