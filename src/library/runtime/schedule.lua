-- Courses over time: prices and forecasts as { start, step_s, values } in quarters of an hour of UTC, nil where unknown.

local shared = require('json-transport')

local schedule = {}

local STEP_S = 900
local DAY_S = 86400
-- Five days; what a service answers beyond them is left out.
local COUNT_MAX = 480
-- Lines of a CSV file that are named if they are wrong.
local FAULTS_NAMED = 5

-- Days since 1970 of a date (https://howardhinnant.github.io/date_algorithms.html#days_from_civil).
local function days_of(year, month, day)
  if month <= 2 then year = year - 1 end
  local era, of_era = year // 400, year % 400
  local of_year = (153 * (month + (month > 2 and -3 or 9)) + 2) // 5 + day - 1
  return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468
end

local MONTH_DAYS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

-- Seconds of a date with a time of day, `2026-11-28T18:00:00+01:00` or `28.11.2026 18:00`, as if it were UTC, and its
-- offset, nil without a zone; nil for anything else.
local function parts_of(time)
  local year, month, day, rest = time:match('^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$')
  if not year then day, month, year, rest = time:match('^(%d%d?)%.(%d%d?)%.(%d%d%d%d)(.*)$') end
  if not year then return nil end
  year, month, day = tonumber(year), tonumber(month), tonumber(day)
  local is_leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
  local days = month == 2 and is_leap and 29 or MONTH_DAYS[month]
  if not days or day < 1 or day > days then return nil end
  local hour, minute, second, zone = 0, 0, 0, ''
  if rest ~= '' then
    local behind
    hour, minute, behind = rest:match('^[T ]+(%d%d?):(%d%d)(.*)$')
    if not hour then return nil end
    second, zone = behind:match('^:(%d%d)%.?%d*(.*)$')
    hour, minute, second = tonumber(hour), tonumber(minute), tonumber(second or 0)
    zone = (zone or behind):gsub('%s', '')
    if minute > 59 or second > 60 or hour * 60 + minute > 24 * 60 then return nil end
  end
  local at = days_of(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second
  if zone == '' then return at end
  if zone == 'Z' then return at, 0 end
  local sign, hours, minutes = zone:match('^([%+%-])(%d%d):?(%d*)$')
  if not sign then return nil end
  local offset = (tonumber(hours) * 60 + (tonumber(minutes) or 0)) * 60
  return at, sign == '-' and -offset or offset
end

-- Seconds by which the site's clock is ahead of UTC.
local function offset_at(moment)
  local time = os.date('*t', moment)
  return days_of(time.year, time.month, time.day) * DAY_S + time.hour * 3600 + time.min * 60 + time.sec - moment
end

-- Makes moments of local times that come in their order. When the clocks go back, a time is there twice: the first one is
-- the earlier one. nil for a time that the clocks skip.
local function local_clock()
  local offsets, seen = {}, {}
  return function(at)
    local day = at // DAY_S
    -- Surely before and behind a change on this day, whatever the zone.
    offsets[day] = offsets[day] or { offset_at((day - 1) * DAY_S), offset_at((day + 2) * DAY_S) }
    local before, after = offsets[day][1], offsets[day][2]
    local early, late = at - before, at - after
    if early == late then return early end
    local is_early, is_late = offset_at(early) == before, offset_at(late) == after
    if not (is_early and is_late) then return is_early and early or is_late and late or nil end
    seen[at] = (seen[at] or 0) + 1
    return seen[at] == 1 and early or late
  end
end

-- Seconds of Unix of a time in seconds, in milliseconds, or as text; without a zone it is UTC or of `clock`. nil for
-- anything else; the second result says whether it is a time that the clocks skip.
local function epoch_of(time, clock)
  local number = tonumber(time)
  if number then return number >= 1e8 and math.floor(number > 1e11 and number / 1000 or number) or nil end
  if type(time) ~= 'string' then return nil end
  local at, offset = parts_of(time)
  if not at then return nil end
  if offset or not clock then return at - (offset or 0) end
  local moment = clock(at)
  return moment, moment == nil
end

local function number_of(rule, raw)
  local number = tonumber(raw)
  if not number or number ~= number or math.abs(number) == math.huge then return nil end
  if rule.divide then number = number / rule.divide end
  if rule.scale then number = number * rule.scale end
  if rule.factor then number = number * rule.factor end
  return math.floor(number * 1e6 + 0.5) / 1e6
end

-- The newest first: the times of its first and last item fall.
local function is_falling(list, path)
  local first, last = shared.at(list[1], path), shared.at(list[#list], path)
  local from, to = type(first) == 'string' and parts_of(first), type(last) == 'string' and parts_of(last)
  return from and to and from > to
end

-- Entries { at, stop, value } of an answer, in its order; `stop` only where the answer gives it. What is wrong with lines
-- of a CSV file goes to `fault`.
local function entries_of(rule, content, fault)
  local entries = {}
  local number = type(content) == 'table' and type(content.number) == 'function' and content.number
  local starts, stops = rule.is_local and local_clock(), rule.is_local and local_clock()
  local function add(time, stop, value, line)
    local at, is_skipped = epoch_of(time, starts)
    if line and not at then
      return fault(line, is_skipped and ('the clocks skip %s'):format(time) or ('"%s" is no time'):format(time or ''))
    end
    if not at then return end
    -- A price that is not known yet is empty or a dash.
    if line and value and value ~= '' and value ~= '-' then
      local text = value
      value = number(text)
      if not value then fault(line, ('"%s" is no number'):format(text)) end
    end
    local shift = rule.shift_s or 0
    local ends = stop ~= nil and epoch_of(stop, stops) or nil
    entries[#entries + 1] = { at = at + shift, stop = ends and ends + shift, value = number_of(rule, value) }
  end
  local function add_item(item)
    local line = number and item[0]
    if line and item[-1] then return fault(line, item[-1]) end
    add(shared.at(item, rule.start), rule.stop and (shared.at(item, rule.stop) or math.huge), shared.at(item, rule.value), line)
  end
  for _, path in ipairs(rule.lists or {}) do
    local list = shared.at(content, path)
    if type(list) == 'table' then
      local is_turned = rule.is_local and #list > 0 and is_falling(list, rule.start)
      for index = 1, #list do
        -- A script has a bound of processor time without a wait.
        if system and index % 1000 == 0 then system.delay(1) end
        add_item(list[is_turned and #list + 1 - index or index])
      end
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
  local is_sorted = true
  for index, entry in ipairs(entries) do
    entry.index = index
    is_sorted = is_sorted and (index == 1 or entries[index - 1].at <= entry.at)
  end
  if not is_sorted then
    table.sort(entries, function(a, b)
      if a.at ~= b.at then return a.at < b.at end
      return a.index < b.index
    end)
  end
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

-- Quarters of the entries, at most COUNT_MAX: from yesterday on if there are more. An entry that lasts for days counts from
-- yesterday until the day after tomorrow.
local function quarters_of(entries, gaps, now)
  local values, first, last = {}, nil, nil
  local today = now - now % DAY_S
  local is_long = #entries > 0 and entries[#entries].at - entries[1].at >= COUNT_MAX * STEP_S
  local earliest = is_long and (today - DAY_S) // STEP_S or 0
  for _, entry in ipairs(entries) do
    local from, stop = entry.at, entry.stop
    if stop - from > DAY_S then from, stop = math.max(from, today - DAY_S), math.min(stop, today + 3 * DAY_S) end
    if entry.value then
      for quarter = math.max(math.ceil(from / STEP_S), earliest), math.ceil(stop / STEP_S) - 1 do
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

-- The first of them as a sentence, since one entry of the log names them all; nil without any.
local function summary_of(faults)
  if #faults == 0 then return nil end
  local text = table.concat(faults, '; ', 1, math.min(#faults, FAULTS_NAMED))
  return #faults > FAULTS_NAMED and ('%s; and %d more'):format(text, #faults - FAULTS_NAMED) or text
end

-- A rule with its settings filled in: {name} in the names of its paths, and the factor.
local function with_settings(rule, settings)
  local function path_of(path)
    if not path then return nil end
    local filled = {}
    for index, part in ipairs(path) do
      filled[index] = type(part) == 'string' and shared.filled(part, {}, settings, tostring) or part
    end
    return filled
  end
  local filled = { factor = rule.factor and tonumber(settings[rule.factor]) }
  for _, name in ipairs({ 'start', 'stop', 'value' }) do filled[name] = path_of(rule[name]) end
  return setmetatable(filled, { __index = rule })
end

-- The first name of the rule that no column of a CSV file has.
local function missing_column(rule, columns)
  local is_column = {}
  for _, name in ipairs(columns) do is_column[name] = true end
  for _, path in ipairs({ rule.start, rule.value, rule.stop }) do
    if type(path[1]) == 'string' and not is_column[path[1]] then return path[1] end
  end
end

-- The schedule of a rule of the plan, nil where the answer has none, and what is wrong with lines of a CSV file, nil if
-- nothing is.
function schedule.of(rule, content, settings, now)
  if rule.tariff then return of_tariff(rule, settings, now) end
  if content == nil then return nil end
  local filled, faults = with_settings(rule, settings), {}
  local columns = type(content) == 'table' and type(content.number) == 'function' and content.columns
  local missing = columns and missing_column(filled, columns)
  if missing then
    return nil, ('there is no column "%s", the header has: %s'):format(missing, table.concat(columns, ', '))
  end
  local entries = entries_of(filled, content, function(line, text)
    faults[#faults + 1] = ('line %d: %s'):format(line, text)
  end)
  return quarters_of(with_ends(entries, rule.most_s), rule.gaps, now), summary_of(faults)
end

-- The value of a schedule at a moment.
function schedule.at(course, moment)
  return course and course.values[(moment - course.start) // course.step_s + 1]
end

return schedule
