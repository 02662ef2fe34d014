-- Rows of a CSV file. A row has its cells by column of the header and by position, row[0] is its line in the file, and
-- row[-1] says what is wrong with the line.

local csv = {}

-- More would not fit into the memory of a script; the quarters of an hour of a year do.
local BYTES_MAX, LINES_MAX = 2097152, 40000

-- A cell in quotes and the position behind it; nil if the quote is not closed.
local function quoted(line, first)
  local from = first + 1
  while true do
    local stop = line:find('"', from, true)
    if not stop then return nil end
    if line:sub(stop + 1, stop + 1) ~= '"' then return (line:sub(first + 1, stop - 1):gsub('""', '"')), stop + 1 end
    from = stop + 2
  end
end

local function cells_of(line, separator)
  local cells, from = {}, 1
  repeat
    local cell, first = nil, line:match('^ *()"', from)
    local stop
    if first then
      local behind
      cell, behind = quoted(line, first)
      if not cell then return nil end
      stop = line:find(separator, behind, true)
      if line:sub(behind, (stop or #line + 1) - 1):find('%S') then return nil end
    else
      stop = line:find(separator, from, true)
      cell = line:sub(from, (stop or #line + 1) - 1):match('^%s*(.-)%s*$')
    end
    cells[#cells + 1] = cell
    from = (stop or 0) + #separator
  until not stop
  while cells[#cells] == '' do cells[#cells] = nil end
  return cells
end

-- The number of a cell; with a decimal comma, points stand between thousands. nil for anything else.
local function with_comma(cell)
  local sign, whole, part = cell:match('^([%+%-]?)([%d%.]+),?(%d*)$')
  if not whole then return nil end
  if whole:find('.', 1, true) then
    local groups = whole:gsub('^[1-9]%d?%d?', '')
    if groups:gsub('%.%d%d%d', '') ~= '' then return nil end
    whole = whole:gsub('%.', '')
  end
  return tonumber(sign .. whole .. '.' .. part)
end

-- @param rule { separator, decimal, header }: the line of the header, 0 without one
-- @return rows with `columns`, a list, and `number`, which makes a number of a cell; nil and why there are none
function csv.rows(text, rule)
  if #text > BYTES_MAX then return nil, 'the CSV file has more than 2 MiB' end
  local separator = rule.separator == 'tab' and '\t' or rule.separator
  local rows = { columns = {}, number = rule.decimal == ',' and with_comma or tonumber }
  local number = 0
  for line in (text:gsub('^\239\187\191', ''):gsub('\r\n?', '\n') .. '\n'):gmatch('([^\n]*)\n') do
    number = number + 1
    -- A script has a bound of processor time without a wait.
    if system and number % 1000 == 0 then system.delay(1) end
    if number > LINES_MAX then return nil, ('the CSV file has more than %d lines'):format(LINES_MAX) end
    if number == rule.header then
      rows.columns = cells_of(line, separator) or {}
    elseif number > rule.header and line:find('%S') then
      local row = cells_of(line, separator) or { [-1] = 'a quote does not end with its cell' }
      row[0] = number
      if rule.header > 0 and #row > #rows.columns then
        row[-1] = ('%d cells, and the header has %d'):format(#row, #rows.columns)
      end
      for position, name in ipairs(rows.columns) do row[name] = row[position] end
      rows[#rows + 1] = row
    end
  end
  return rows
end

return csv
