/** The part of `os` that is about time, in the zone of the site, and `system`. */
import type { DurationMs } from '../../../lib/time.ts';
import { bytesArgument, LuaError, numberArgument, numberArgumentOr, numberOf } from '../values.ts';
import { epochOf, formatTime, isSummerTime, zonedTime } from '../calendar.ts';
import type { Library } from '../stack.ts';
import type { ScriptClock } from '../machine.ts';
import { type HostFunction, waiting } from '../task.ts';

/** Dates and their fields. */
const DATES = String.raw`
local function integer(t, key, default)
  local value = t[key]
  if value == nil then
    if default == false then error(format("field '%s' missing in date table", key), 3) end
    return default
  end
  local number = tonumber(value)
  local whole = number and tointeger(number)
  if not whole then error(format("field '%s' is not an integer", key), 3) end
  if whole < -2147483648 or whole > 2147483647 then error(format("field '%s' is out-of-bound", key), 3) end
  return whole
end

local function fill(t, epoch, utc)
  t.year, t.month, t.day, t.hour, t.min, t.sec, t.wday, t.yday, t.isdst = host.calendar(epoch, utc)
  return t
end

local part = {}

function part.time(t)
  kit.check(t, 'table', 1, 'time')
  local year, month, day = integer(t, 'year', false), integer(t, 'month', false), integer(t, 'day', false)
  local hour, min, sec = integer(t, 'hour', 12), integer(t, 'min', 0), integer(t, 'sec', 0)
  local isdst = t.isdst
  if isdst ~= nil then isdst = not not isdst end
  local epoch = host.epoch(year, month, day, hour, min, sec, isdst)
  fill(t, epoch, false)
  return epoch
end

function part.date(pattern, epoch)
  if pattern == nil then pattern = '%c' end
  pattern = format('%s', pattern)
  if epoch == nil then epoch = host.now() else
    local number = tonumber(epoch)
    local whole = number and tointeger(number)
    if not whole then error("bad argument #2 to 'date' (number has no integer representation)", 2) end
    epoch = whole
  end
  local utc = sub(pattern, 1, 1) == '!'
  if utc then pattern = sub(pattern, 2) end
  if sub(pattern, 1, 2) == '*t' then return fill({}, epoch, utc) end
  return host.date(pattern, epoch, utc)
end

return part
`;

export const TIME_LIBRARY: Library = {
  name: 'time',
  parts: { dates: DATES },
  source: String.raw`
local os = kit.library('os', { difftime = host.difference, clock = host.elapsed })

function os.time(t)
  if t == nil then return host.now() end
  return kit.part('dates').time(t)
end

kit.later(os, 'dates', 'date')

system = { delay = kit.wait('delay') }

function system.uptime()
  return floor(host.elapsed())
end
`,
};

/**
 * `timeZone` is called at every use. Waits are at least `delayMs` long; `stop` ends those that go on, which
 * would hold the script in memory until they are over.
 */
export function timeFunctions(options: { clock: ScriptClock; timeZone: () => string; delayMs: DurationMs }): {
  functions: Record<string, HostFunction>;
  stop: () => void;
} {
  const { clock, timeZone } = options;
  const startedMs = clock.monotonicMs();
  const waits = new Set<{ cancel(): void }>();
  const zoneOf = (isUtc: unknown): string => (isUtc === true ? 'GMT' : timeZone());
  const functions: Record<string, HostFunction> = {
    now: () => [BigInt(Math.floor(clock.wallMs() / 1_000))],
    elapsed: () => [(clock.monotonicMs() - startedMs) / 1_000],
    difference: ([later, earlier]) => [
      numberArgument(later, 1, 'difftime') - numberArgumentOr(earlier, 2, 'difftime', 0),
    ],
    epoch: ([year, month, day, hour, minute, second, isSummer]) => {
      const [y = 0, mo = 0, d = 0, h = 0, mi = 0, s = 0] = [year, month, day, hour, minute, second].map(
        numberOf,
      );
      const fields = { year: y, month: mo, day: d, hour: h, minute: mi, second: s };
      const summer = typeof isSummer === 'boolean' ? isSummer : undefined;
      return [BigInt(epochOf(fields, summer, timeZone()))];
    },
    calendar: ([epoch, isUtc]) => {
      const time = zonedTime(numberOf(epoch) ?? 0, zoneOf(isUtc));
      const { year, month, day, hour, minute, second, dayOfWeek, dayOfYear } = time;
      // Weekdays from 1, Sunday first.
      const integers = [year, month, day, hour, minute, second, (dayOfWeek % 7) + 1, dayOfYear].map(BigInt);
      return [...integers, isSummerTime(time)];
    },
    date: ([format, epoch, isUtc]) => {
      // One character for each byte: what stands between the conversions stays as it is.
      const pattern = bytesArgument(format, 1, 'date').toString('latin1');
      const text = formatTime(pattern, zonedTime(numberOf(epoch) ?? 0, zoneOf(isUtc)));
      return [Buffer.from(text, 'latin1')];
    },
    delay: waiting(([duration]) => {
      const durationMs = numberArgument(duration, 1, 'delay');
      if (Number.isNaN(durationMs)) throw new LuaError("bad argument #1 to 'delay' (number expected)");
      return new Promise((resolve) => {
        const wait = clock.setTimer(Math.max(durationMs, options.delayMs), () => {
          waits.delete(wait);
          resolve();
        });
        waits.add(wait);
      });
    }),
  };
  return {
    functions,
    stop: () => {
      for (const wait of waits) wait.cancel();
      waits.clear();
    },
  };
}
