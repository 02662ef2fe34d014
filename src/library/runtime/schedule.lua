-- Courses over time: prices and forecasts as { start, step_s, values } in quarters of an hour of UTC, nil where unknown.

local shared = require('json-transport')

local schedule = {}

local STEP_S = 900
local DAY_S = 86400
-- Five days; what a service answers beyond them is left out.
local COUNT_MAX = 480

-- Days since 1970 of a date (https://howardhinnant.github.io/date_algorithms.html#days_from_civil).
local function days_of(year, month, day)
  if month <= 2 then year = year - 1 end
  local era, of_era = year // 400, year % 400
  local of_year = (153 * (month + (month > 2 and -3 or 9)) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

-- Seconds of Unix of a time in ISO 8601 (UTC without a zone), in seconds, or in milliseconds; nil for anything else.
local function epoch_of(time)
  local number = tonumber(time)
  if number then return math.floor(number > 1e11 and number / 1000 or number) end
  if type(time) ~= 'string' then return nil end
  local year, month, day, rest = time:match('^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$')
  if not year then return nil end
  local hour, minute, behind = rest:match('^[T ](%d%d):(%d%d)(.*)$')
  local second, zone = (behind or ''):match('^:(%d%d)[%.%d]*(.*)$')
  local sign, hours, minutes = (zone or behind or ''):match('^%s*([%+%-])(%d%d):?(%d*)$')
  local offset = sign and (tonumber(hours) * 60 + (tonumber(minutes) or 0)) * 60 or 0
  local at = days_of(tonumber(year), tonumber(month), tonumber(day)) * DAY_S
    + (tonumber(hour) or 0) * 3600 + (tonumber(minute) or 0) * 60 + (tonumber(second) or 0)
  return sign == '-' and at + offset or at - offset
end

local function number_of(rule, raw)
  local number = tonumber(raw)
  if not number or number ~= number or math.abs(number) == math.huge then return nil end
  if rule.divide then number = number / rule.divide end
  if rule.scale then number = number * rule.scale end
  return math.floor(number * 1e6 + 0.5) / 1e6
end

-- Entries { at, stop, value } of an answer, in its order; `stop` only where the answer gives it.
local function entries_of(rule, content)
  local entries = {}
  local function add(time, stop, value)
    local at = epoch_of(time)
    if not at then return end
    local shift = rule.shift_s or 0
    local ends = stop ~= nil and epoch_of(stop) or nil
    entries[#entries + 1] = { at = at + shift, stop = ends and ends + shift, value = number_of(rule, value) }
  end
  for _, path in ipairs(rule.lists or {}) do
    local list = shared.at(content, path)
    for _, item in ipairs(type(list) == 'table' and list or {}) do
      add(shared.at(item, rule.start), rule.stop and (shared.at(item, rule.stop) or math.huge), shared.at(item, rule.value))
    end
  end
  local times, values = rule.starts and shared.at(content, rule.starts), rule.values and shared.at(content, rule.values)
  if type(times) == 'table' and type(values) == 'table' then
    for index, time in ipairs(times) do add(time, nil, values[index]) end
  end
  local by_time = rule.by_time and shared.at(content, rule.by_time)
  if type(by_time) == 'table' then
    for time, value in pairs(by_time) do add(time, nil, value) end
  end
  return entries
end

-- Sorted, the first of several of one time, each with its end: that of the answer, else a step later, but not later than
-- the next begins. The step is the smallest one of the answer, so that a missing hour remains unknown.
local function with_ends(entries, most_s)
  for index, entry in ipairs(entries) do entry.index = index end
  table.sort(entries, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.index < b.index
  end)
  local sorted, step = {}, most_s
  for _, entry in ipairs(entries) do
    local last = sorted[#sorted]
    if not last or last.at ~= entry.at then
      if last and entry.at - last.at >= STEP_S then step = math.min(step, entry.at - last.at) end
      sorted[#sorted + 1] = entry
    end
  end
  for index, entry in ipairs(sorted) do
    local following = sorted[index + 1]
    entry.stop = math.min(entry.stop or entry.at + step, following and following.at or math.huge)
  end
  return sorted
end

-- Quarters of the entries. One that lasts for days counts from yesterday until the day after tomorrow.
local function quarters_of(entries, gaps, now)
  local values, first, last = {}, nil, nil
  local today = now - now % DAY_S
  for _, entry in ipairs(entries) do
    local from, stop = entry.at, entry.stop
    if stop - from > DAY_S then from, stop = math.max(from, today - DAY_S), math.min(stop, today + 3 * DAY_S) end
    if entry.value then
      for quarter = math.ceil(from / STEP_S), math.ceil(stop / STEP_S) - 1 do
        first = first or quarter
        if quarter - first >= COUNT_MAX then break end
        values[quarter - first + 1], last = entry.value, quarter
      end
    end
  end
  if not first then return nil end
  local count = last - first + 1
  if gaps then
    for index = 1, count do values[index] = values[index] or gaps end
  end
  -- With `n` the list keeps its length where values are unknown.
  values.n = count
  return { start = first * STEP_S, step_s = STEP_S, values = values }
end

local WEEKDAYS = { sun = 1, mon = 2, tue = 3, wed = 4, thu = 5, fri = 6, sat = 7 }

-- Windows of a text such as `mon-fri 22:00-06:00, sat-sun`: a test for a local time. nil for a text that is none.
function schedule.windows(text)
  local windows = {}
  for part in (text or ''):lower():gmatch('[^,;]+') do
    local days, times = part:match('^%s*([a-z%-]*)%s*([%d:%-]*)%s*$')
    local first, last = (days or '?'):match('^(%a%a%a)%-?(%a*)$')
    local from, from_min, to, to_min = (times or ''):match('^(%d%d?):(%d%d)%-(%d%d?):(%d%d)$')
    local is_day = days == '' or (WEEKDAYS[first] and (last == '' or WEEKDAYS[last]))
    if not is_day or (times ~= '' and not from) or (days == '' and times == '') then return nil end
    windows[#windows + 1] = {
      first = WEEKDAYS[first] or 1,
      last = days == '' and 7 or WEEKDAYS[last] or WEEKDAYS[first],
      from = from and from * 60 + from_min or 0,
      to = from and to * 60 + to_min or 1440,
    }
  end
  -- `fri-mon` and `22:00-06:00` go over the end.
  local function within(value, from, to, is_open)
    if from <= to then return value >= from and (value < to or not is_open and value == to) end
    return value >= from or value < to or not is_open and value == to
  end
  return function(time)
    for _, window in ipairs(windows) do
      if within(time.wday, window.first, window.last, false)
        and within(time.hour * 60 + time.min, window.from, window.to, true) then
        return true
      end
    end
    return false
  end
end

-- Yesterday until the day after tomorrow, by settings and the site's time zone.
local function of_tariff(rule, settings, now)
  local tariff = rule.tariff
  local value, other = number_of(rule, settings[tariff.value]), number_of(rule, settings[tariff.other])
  local is_other = tariff.at and schedule.windows(settings[tariff.at]) or function() return false end
  if not value then return nil end
  local today = now - now % DAY_S
  local values = { n = 4 * DAY_S // STEP_S }
  for index = 1, values.n do
    values[index] = is_other(os.date('*t', today - DAY_S + (index - 1) * STEP_S)) and other or value
  end
  return { start = today - DAY_S, step_s = STEP_S, values = values }
end

-- The schedule of a rule of the plan; nil where the answer has none.
function schedule.of(rule, content, settings, now)
  if rule.tariff then return of_tariff(rule, settings, now) end
  if content == nil then return nil end
  return quarters_of(with_ends(entries_of(rule, content), rule.most_s), rule.gaps, now)
end

-- The value of a schedule at a moment.
function schedule.at(course, moment)
  return course and course.values[(moment - course.start) // course.step_s + 1]
end

return schedule
