/** `json` and `inspect`. */
import { ReportThrottle } from '../../../lib/report-throttle.ts';
import type { MonotonicMs } from '../../../lib/time.ts';
import type { Library } from '../stack.ts';
import type { HostFunction } from '../task.ts';
import { jsonOf, LuaError, LuaJson } from '../values.ts';

/** Readable text of any value: lists in one line, named fields one to a line, sorted. */
const INSPECT = String.raw`
local reserved = {}
gsub('and break do else elseif end false for function goto if in local nil not or repeat ' ..
    'return then true until while', '%a+', function(word) reserved[word] = true end)
local escapes = { ['\a'] = '\\a', ['\b'] = '\\b', ['\f'] = '\\f', ['\n'] = '\\n', ['\r'] = '\\r',
  ['\t'] = '\\t', ['\v'] = '\\v', ['\127'] = '\\127', ['\\'] = '\\\\' }
local ranks = { number = 1, boolean = 2, string = 3, table = 4, ['function'] = 5, userdata = 6, thread = 7 }

local function quote(text)
  local mark = '"'
  if match(text, '"') and not match(text, "'") then mark = "'" end
  local body = gsub(text, '[%c\\\127]', function(c) return escapes[c] or format('\\%03d', byte(c)) end)
  if mark == '"' then body = gsub(body, '"', '\\"') end
  return mark .. body .. mark
end

local function before(a, b)
  local ta, tb = type(a), type(b)
  if ta == tb and (ta == 'string' or ta == 'number') then return a < b end
  if ta ~= tb then return ranks[ta] < ranks[tb] end
  return tostring(a) < tostring(b)
end

local function fields(t, length)
  local keys = {}
  for key in next, t do
    if not (math_type(key) == 'integer' and key >= 1 and key <= length) then keys[#keys + 1] = key end
  end
  sort(keys, before)
  return keys
end

local function count(t, counts)
  if type(t) ~= 'table' then return end
  counts[t] = (counts[t] or 0) + 1
  if counts[t] > 1 then return end
  for key, value in next, t do
    count(key, counts)
    count(value, counts)
  end
end

local function inspect(root, options)
  options = options or {}
  kit.check(options, 'table', 2, 'inspect')
  local newline, indent, depth = options.newline or '\n', options.indent or '  ', options.depth or 1 / 0
  local counts, ids, kinds = {}, {}, {}
  count(root, counts)

  local function id(value)
    local kind = type(value)
    if not ids[value] then
      kinds[kind] = (kinds[kind] or 0) + 1
      ids[value] = kinds[kind]
    end
    return ids[value]
  end

  local write
  local function write_table(t, level)
    if ids[t] then return format('<table %d>', ids[t]) end
    if level >= depth then return '{...}' end
    local mark = counts[t] > 1 and format('<%d>', id(t)) or ''
    local length = rawlen(t)
    local keys, parts = fields(t, length), {}
    for index = 1, length do parts[index] = ' ' .. write(rawget(t, index), level + 1) end
    local margin = newline .. rep(indent, level + 1)
    for _, key in next, keys do
      local name = type(key) == 'string' and match(key, '^[%a_][%w_]*$') and not reserved[key] and key
        or '[' .. write(key, level + 1) .. ']'
      parts[#parts + 1] = margin .. name .. ' = ' .. write(rawget(t, key), level + 1)
    end
    if #parts == 0 then return mark .. '{}' end
    local last = #keys > 0 and newline .. rep(indent, level) or ' '
    return mark .. '{' .. concat(parts, ',') .. last .. '}'
  end

  function write(value, level)
    local kind = type(value)
    if kind == 'string' then return quote(value) end
    if kind == 'table' then return write_table(value, level) end
    if kind == 'number' or kind == 'boolean' or kind == 'nil' then return tostring(value) end
    return format('<%s %d>', kind, id(value))
  end

  return write(root, 0)
end

return { inspect = inspect }
`;

export const JSON_LIBRARY: Library = {
  name: 'json',
  parts: { inspect: INSPECT },
  source: String.raw`
kit.library('json', { decode = host.json_decode, encode = host.json_encode })

kit.later(kit, 'inspect', 'inspect')
local inspect = { inspect = kit.inspect }
kit.library('inspect', setmetatable(inspect, { __call = function(_, ...) return kit.inspect(...) end }))
`,
};

/** Values of one script that are reported as left out, each once an hour. */
const REPORTED = { intervalMs: 3_600_000, perOwner: 100, owners: 1 };

/** @param options.warn takes a sentence about a value that was left out */
export function jsonFunctions(options: {
  monotonicMs: () => MonotonicMs;
  warn: (sentence: string) => void;
}): Readonly<Record<string, HostFunction>> {
  const throttle = new ReportThrottle(REPORTED);
  const leftOut = (names: readonly string[]): void => {
    for (const name of names) {
      const sentence = `json.decode left out the value of "${name}", which is no JSON.`;
      const report = throttle.report('script', name, sentence, options.monotonicMs());
      if (report !== undefined) options.warn(report);
    }
  };
  return {
    json_decode: ([text]) => {
      if (!Buffer.isBuffer(text)) throw new LuaError("bad argument #1 to 'decode' (string expected)");
      return [LuaJson.ofBytes(text, leftOut)];
    },
    json_encode: ([value]) => [jsonOf(value)],
  };
}
