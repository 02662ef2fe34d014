/** Hostile scripts, for the test that they end and say why and for the benchmark of what others notice of them. */

export interface Animal {
  animal: string;
  code: string;
  /** What it says at its end. */
  says: RegExp;
  /** `stuck`: its thread has to be ended. `alive`: it is slowed down only. */
  fate: 'ends' | 'stuck' | 'alive';
}

/** A pattern that is tried in more ways than there is time for, inside the C library. */
const PATTERN_BOMB = '(("a"):rep(40)):find(("a*"):rep(40) .. "b")';

/** Seconds go by until the hook looks: what each call takes is bounded by memory alone. */
export const STUCK_BOMB = `local s, len = "x", utf8.len for _ = 1, 23 do s = s .. s end while true do ${'len(s) '.repeat(16)}end`;

const TOO_MUCH = /too much work at once/;

/** By the limit of a turn, of memory, or of one step, whichever a busy machine reaches first. */
const BOUNDED = /^execution time exceeded|^not enough memory|: too much work at once/;

const ANIMALS: readonly [animal: string, code: string, says: RegExp, fate?: 'stuck' | 'alive'][] = [
  ['an endless loop', 'while true do end', /^execution time exceeded/],
  [
    'an endless loop of pcall',
    'while true do pcall(function() while true do end end) end',
    /^execution time exceeded/,
  ],
  [
    'nested pcall without end',
    'local function f() return pcall(f) and f() end while true do f() end',
    BOUNDED,
  ],
  ['calls of C that take long', STUCK_BOMB, /^execution time exceeded: stuck/, 'stuck'],
  ['a pattern bomb', PATTERN_BOMB, TOO_MUCH],
  ['a pattern bomb of gsub', 'return ("a"):rep(1e6):gsub("a-b", "")', TOO_MUCH],
  ['a long text without its brackets', 'return ("("):rep(1e6):find("%b()")', TOO_MUCH],
  ['a long text in a long text', 'return ("a"):rep(2e6):find(("a"):rep(1e6) .. "b", 1, true)', TOO_MUCH],
  ['an empty text without end', 'return (""):rep(1 << 50)', TOO_MUCH],
  ['a move without end', 'table.move({}, 1, 1 << 50, 2)', TOO_MUCH],
  [
    'a list that says it is endless',
    'table.insert(setmetatable({}, { __len = function() return 1 << 50 end }), 1, 1)',
    TOO_MUCH,
  ],
  ['too many results', 'return table.unpack({}, 1, 1e7)', /too many results to unpack/],
  ['a wide format', 'return string.format("%99999d", 1)', /invalid conversion/],
  [
    'a pattern bomb in a pcall in a coroutine',
    `coroutine.wrap(function() while true do pcall(function() return ${PATTERN_BOMB} end) end end)()`,
    /^execution time exceeded/,
  ],
  ['a memory bomb', 'local t = {} while true do t[#t + 1] = ("x"):rep(10000) .. #t end', BOUNDED],
  [
    'a memory bomb in a pcall',
    'while true do pcall(function() local s = "x" while true do s = s .. s end end) end',
    BOUNDED,
  ],
  ['a huge string', 'local s = ("x"):rep(1 << 40)', /resulting string too large|not enough memory/],
  ['deep recursion', 'local function f(n) return 1 + f(n + 1) end f(1)', /stack overflow/],
  [
    'deep recursion in the parser',
    'load("return " .. ("("):rep(1e5) .. ("{"):rep(1e5)) error("survived")',
    /survived|^execution time exceeded/,
  ],
  [
    'a hostile __index',
    'local t = setmetatable({}, { __index = function(t, k) return t[k] end }) print(t.x)',
    /stack overflow|^execution time exceeded/,
  ],
  [
    'a hostile __tostring',
    'print(setmetatable({}, { __tostring = function() while true do end end }))',
    /too much work at once|^execution time exceeded/,
  ],
  [
    'a hostile __eq and __gc',
    'setmetatable({}, { __gc = function() while true do end end })',
    /finalizers \(__gc\) are not available/,
  ],
  [
    'a comparator without end',
    'table.sort({ 1, 2, 3 }, function() while true do end end)',
    /too much work at once|^execution time exceeded/,
  ],
  [
    'coroutines without end',
    'while true do local c = coroutine.wrap(function() while true do coroutine.yield() end end) c() end',
    BOUNDED,
  ],
  [
    'a flood of logs',
    'while true do enapter.log(("x"):rep(10000), "error") end',
    /^execution time exceeded|log entries were dropped/,
  ],
  [
    'a flood of timers',
    'for i = 1, 1000 do scheduler.add(1, function() end) end',
    /too many scheduled functions/,
  ],
  [
    'timers that all work hard',
    'for i = 1, 100 do scheduler.add(1, function() for i = 1, 1e6 do end end) end',
    /takes too much processor time/,
    'alive',
  ],
  ['waits without end', 'while true do system.delay(0) end', /^rule started/, 'alive'],
  ['huge JSON', 'local s = json.encode(("x"):rep(4e6)) while true do json.decode(s) end', BOUNDED],
  [
    'a huge payload',
    'print(storage.write("k", ("x"):rep(1e6))) error("over")',
    /: over|^execution time exceeded/,
  ],
  ['deep JSON', 'json.decode(("["):rep(1e6))', /nested deeper|^execution time exceeded/],
  ['io', 'io.open("/etc/passwd")', /attempt to index a nil value \(global 'io'\)/],
  ['os.execute', 'os.execute("true")', /attempt to call a nil value \(field 'execute'\)/],
  ['require of a library', 'require("socket")', /module 'socket' not found/],
  ['bytecode', 'load(string.char(27) .. "Lua")()', /attempt to call a nil value/],
  ['string.dump', 'string.dump(print)', /attempt to call a nil value \(field 'dump'\)/],
  ['debug', 'debug.getregistry()', /attempt to call a nil value \(field 'getregistry'\)/],
  [
    'globals of libraries',
    'string.format = nil table.concat = nil pcall = nil _G.next = nil error = nil json = nil enapter.log(1) error()',
    /attempt to call a nil value/,
  ],
];

export const SCRIPT_ZOO: readonly Animal[] = ANIMALS.map(([animal, code, says, fate]) => ({
  animal,
  code,
  says,
  fate: fate ?? 'ends',
}));
