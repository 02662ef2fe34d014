/** Functions of every script: Lua's own, fitted to waiting and to the habits of 5.3, and `require`. */
import { KEPT, type Library } from '../stack.ts';

/**
 * A host call that waits yields `tag` out of every coroutine in its way; so does the count hook, with `flags[1]` set,
 * because a hook yields no values. `flags[2]` tells the host that a coroutine was resumed where nothing can yield. A
 * coroutine whose host call is on its way stays busy for everybody else.
 */
const COROUTINES = String.raw`
local coroutine, check, flags, mains, tag = {}, kit.check, kit.flags, kit.mains, kit.tag
local busy = setmetatable({}, { __mode = 'k' })

local function pass(thread, ok, ...)
  if ok then
    local first = ...
    local paused = first == nil and flags[1]
    if paused then flags[1] = false end
    if paused or first == tag then
      busy[thread] = true
      yield(tag)
      busy[thread] = nil
      return pass(thread, resume(thread))
    end
  end
  return ok, ...
end

local function unblock(...)
  flags[2] = false
  return ...
end

local function run(thread, ...)
  if busy[thread] then return false, 'cannot resume non-suspended coroutine' end
  if isyieldable() or flags[2] then return pass(thread, resume(thread, ...)) end
  flags[2] = true
  return unblock(resume(thread, ...))
end

local function unwrap(thread, ok, ...)
  if ok then return ... end
  local message = ...
  if status(thread) == 'dead' then close(thread) end
  if type(message) == 'string' then error(message, 2) end
  error(message, 0)
end

function coroutine.resume(thread, ...)
  check(thread, 'thread', 1, 'resume')
  return run(thread, ...)
end

function coroutine.wrap(body)
  check(body, 'function', 1, 'wrap')
  local thread = create(body)
  return function(...) return unwrap(thread, run(thread, ...)) end
end

function coroutine.yield(...)
  if mains[running()] then error('attempt to yield from outside a coroutine', 2) end
  return yield(...)
end

function coroutine.status(thread)
  check(thread, 'thread', 1, 'status')
  if busy[thread] then return 'normal' end
  return status(thread)
end

function coroutine.close(thread)
  check(thread, 'thread', 1, 'close')
  if busy[thread] then error('cannot close a normal coroutine', 2) end
  return close(thread)
end

function coroutine.running()
  local thread, main = running()
  return thread, main or mains[thread] or false
end

function coroutine.isyieldable()
  return not mains[running()] and isyieldable()
end

return coroutine
`;

/** Text only, and modules that came along. */
const LOADING = String.raw`
local loading, own, loaded, libraries, preload = {}, {}, kit.packages, kit.libraries, kit.preload
local part = {}

function part.load(chunk, name, mode, ...)
  if type(chunk) ~= 'string' and type(chunk) ~= 'function' then
    error(format("bad argument #1 to 'load' (function expected, got %s)", type(chunk)), 2)
  end
  for position, value in next, { [2] = name, [3] = mode } do
    if type(value) ~= 'string' and type(value) ~= 'number' then
      error(format("bad argument #%d to 'load' (string expected, got %s)", position, type(value)), 2)
    end
  end
  if mode ~= nil and not find(mode, 't', 1, true) then
    return nil, format("attempt to load a text chunk (mode is '%s')", mode)
  end
  return load(chunk, name, 't', ...)
end

local function loader(name)
  local given = preload[name]
  if given then return given, ':preload:' end
  local source, chunk = host.module(name)
  if not source then error(format("module '%s' not found", name), 3) end
  local body, message = load(source, chunk, 't')
  if not body then error(format("error loading module '%s':\n\t%s", name, message), 3) end
  return body, chunk
end

function part.require(name)
  kit.check(name, 'string', 1, 'require')
  -- A leading './' means nothing, unless a module was given under exactly that name.
  local bare = gsub(name, '^%./', '')
  if loaded[bare] ~= nil or preload[bare] or not preload[name] then name = bare end
  -- A module that came along is meant, and not the library of its name, which it may ask for itself.
  local is_hidden = preload[name] and not own[name] and loaded[name] == libraries[name]
  if loading[name] or loaded[name] ~= nil and not is_hidden then return loaded[name] end
  local body, extra = loader(name)
  loading[name] = true
  -- One that raises is begun anew the next time.
  local guard <close> = setmetatable({}, { __close = function() loading[name] = nil end })
  local value = body(name, extra)
  own[name] = true
  if value ~= nil then loaded[name] = value
  elseif loaded[name] == libraries[name] then loaded[name] = true end
  return loaded[name], extra
end

return part
`;

/** Functions of `math` that Lua 5.3 deprecates but has. */
const OLD_MATH = String.raw`
local part = {}
for name, compute in next, {
  pow = function(x, y) return x ^ y end,
  ldexp = function(x, exponent) return x * 2.0 ^ exponent end,
  log10 = function(x) return log(x, 10) end,
  cosh = function(x) return (exp(x) + exp(-x)) / 2 end,
  sinh = function(x) return (exp(x) - exp(-x)) / 2 end,
  tanh = function(x) return 1 - 2 / (exp(2 * x) + 1) end,
} do
  local function expected(value, position)
    return tonumber(value)
      or error(format("bad argument #%d to '%s' (number expected, got %s)", position, name, type(value)), 3)
  end
  if name == 'pow' or name == 'ldexp' then
    part[name] = function(x, y)
      x, y = expected(x, 1), expected(y, 2)
      return compute(x, y)
    end
  else
    part[name] = function(x)
      x = expected(x, 1)
      return compute(x)
    end
  end
end
return part
`;

/** Text of a number counts as one in bitwise operations, as it does in arithmetic. */
const BITWISE = String.raw`
local part = {}
for name, operate in next, {
  band = function(a, b) return a & b end, bor = function(a, b) return a | b end,
  bxor = function(a, b) return a ~ b end, bnot = function(a) return ~a end,
  shl = function(a, b) return a << b end, shr = function(a, b) return a >> b end,
} do
  local function whole(value)
    local number = tonumber(value)
    if not number then error(format('attempt to perform bitwise operation on a %s value', type(value)), 3) end
    return tointeger(number) or error('number has no integer representation', 3)
  end
  part['__' .. name] = function(a, b) return operate(whole(a), whole(b)) end
end
return part
`;

/** Functions that a script must not have are removed; others are changed as far as needed. */
export const BASE_LIBRARY: Library = {
  name: 'base',
  parts: { coroutines: COROUTINES, loading: LOADING, old_math: OLD_MATH, bitwise: BITWISE },
  source: String.raw`
local host, kit = ...
local kept = { ${Object.values(KEPT).join(', ')} }
local error, getmetatable, ipairs, load, pairs, pcall, rawget, select, setmetatable, tonumber, tostring, type =
  error, getmetatable, ipairs, load, pairs, pcall, rawget, select, setmetatable, tonumber, tostring, type
local concat, format, gsub, pack, unpack, unpack_list =
  table.concat, string.format, string.gsub, string.pack, string.unpack, table.unpack
local globals, traceback, collect, tointeger, mathtype =
  _G, debug.traceback, collectgarbage, math.tointeger, math.type
local running, take = coroutine.running, host.take
-- Less memory at rest for a little more work: hundreds of states stand side by side.
collect('setpause', 120)

local tag, flags, mains = {}, { false, false }, setmetatable({}, { __mode = 'k' })
kit.tag, kit.flags, kit.mains = tag, flags, mains

for _, name in pairs({ 'dofile', 'loadfile', 'io', 'debug', 'package', 'require', 'os', 'warn', 'lua_version' }) do
  globals[name] = nil
end
string.dump = nil
globals._VERSION = 'Lua 5.3'

-- Parts: calls at the end of a function leave no trace of the function that was there in their place.

local parts = {}

local function begin(chunk)
  return chunk(host, kit, unpack_list(kept))
end

function kit.part(name)
  local part = parts[name]
  if not part then
    part = begin(host.part(name))
    parts[name] = part
  end
  return part
end

function kit.later(owner, part, ...)
  for _, name in ipairs({ ... }) do
    owner[name] = function(...) return (parts[part] or kit.part(part))[name](...) end
  end
end

kit.later(coroutine, 'coroutines', 'resume', 'wrap', 'yield', 'status', 'close', 'running', 'isyieldable')

-- What is known at once comes behind true; whoever waited is given nothing and fetches it.
local function outcome(is_known, ...)
  if is_known then return ... end
  return take()
end

function kit.wait(name)
  local start = host[name]
  return function(...) return outcome(start(...)) end
end

-- To be called by functions that scripts call: the error is raised at their caller, or at another level.
function kit.check(value, expected, position, name, level)
  if type(value) == expected then return end
  error(format("bad argument #%d to '%s' (%s expected, got %s)", position, name, expected, type(value)), level or 3)
end

-- Objects of a library: how one is made of its methods and what it stands for, and how that is found, out of reach of scripts.
function kit.objects(what)
  local states = setmetatable({}, { __mode = 'k' })
  local function make(methods, state)
    local object = setmetatable({}, { __index = methods })
    states[object] = state
    return object
  end
  return make, function(object)
    local state = states[object]
    if not state then error(what .. ' is called with a dot, use a colon', 3) end
    return state
  end
end

-- What the host starts: take() gives the entry's name and its arguments.

kit.entries = {}

local function call(name, ...)
  return kit.entries[name](...)
end

local function entry()
  mains[running()] = true
  return call(take())
end

function kit.entries.begin(seed, other)
  math.randomseed(seed, other)
end

function kit.entries.chunk(source, name)
  local body, message = load(source, name, 't')
  if not body then return message end
  body()
end

kit.packages, kit.libraries, kit.preload = { _G = globals }, {}, {}
for _, name in pairs({ 'coroutine', 'math', 'string', 'table', 'utf8' }) do kit.packages[name] = globals[name] end
globals.package = { loaded = kit.packages, preload = kit.preload }

function kit.library(name, library)
  globals[name], kit.packages[name], kit.libraries[name] = library, library, library
  return library
end

kit.later(globals, 'loading', 'load', 'require')

-- Base functions with less power, or with the habits of 5.3.

globals.debug = { traceback = traceback }

function globals.collectgarbage(option)
  if option == nil or option == 'collect' or option == 'count' then return collect(option) end
  return 0
end

function globals.setmetatable(value, metatable)
  -- A finalizer runs where no hook looks: nothing would bound it.
  if type(metatable) == 'table' and rawget(metatable, '__gc') ~= nil then
    error('finalizers (__gc) are not available', 2)
  end
  local ok, result = pcall(setmetatable, value, metatable)
  -- Lua does not see the name of a function that is called by another of its own.
  if not ok then error((gsub(result, "'%?'", "'setmetatable'")), 2) end
  return result
end

function math.tointeger(value)
  if type(value) == 'string' then value = tonumber(value) end
  if type(value) ~= 'number' then return nil end
  return tointeger(value)
end

kit.later(math, 'old_math', 'pow', 'ldexp', 'log10', 'cosh', 'sinh', 'tanh')

local seed = math.randomseed
function math.randomseed(first, ...)
  -- Any number is a seed, as os.clock() * 1000 is in scripts.
  if mathtype(first) == 'float' and not tointeger(first) then first = unpack('<i8', pack('<d', first)) end
  return seed(first, ...)
end

kit.later(getmetatable(''), 'bitwise', '__band', '__bor', '__bxor', '__bnot', '__shl', '__shr')

function globals.print(...)
  local texts = {}
  for index = 1, select('#', ...) do texts[index] = tostring((select(index, ...))) end
  host.print(concat(texts, '\t'))
end

return tag, flags, entry, begin
`,
};
