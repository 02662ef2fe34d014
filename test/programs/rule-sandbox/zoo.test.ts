/**
 * The script zoo: hostile scripts on real threads, each beside a neighbour on the same thread. Whatever they do,
 * they end within their limit and say why, and the neighbour goes on.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { superviseRules, type SupervisedRules } from '../../support/rule-supervisor.ts';
import { until } from '../../support/until.ts';

/** A quarter of the real ones, so that the zoo is through in seconds. */
const QUICK = { turnMs: 200, stuckMs: 250, watchIntervalMs: 20 };
const NEIGHBOUR = 'scheduler.add(50, function() enapter.log("tick") end)';
const BOMB = '(("a"):rep(40)):find(("a*"):rep(40) .. "b")';

/** What it says at its end; `stuck`: its thread had to be ended. */
const ZOO: [animal: string, code: string, says: RegExp, fate?: 'stuck' | 'alive'][] = [
  ['an endless loop', 'while true do end', /^execution time exceeded/],
  [
    'an endless loop of pcall',
    'while true do pcall(function() while true do end end) end',
    /^execution time exceeded/,
  ],
  [
    'nested pcall without end',
    'local function f() return pcall(f) and f() end while true do f() end',
    /^execution time exceeded/,
  ],
  ['a pattern bomb', BOMB, /^execution time exceeded: stuck/, 'stuck'],
  [
    'a pattern bomb in a pcall in a coroutine',
    `coroutine.wrap(function() while true do pcall(function() return ${BOMB} end) end end)()`,
    /^execution time exceeded: stuck/,
    'stuck',
  ],
  [
    'a memory bomb',
    'local t = {} while true do t[#t + 1] = ("x"):rep(10000) .. #t end',
    /^not enough memory|^execution time exceeded/,
  ],
  [
    'a memory bomb in a pcall',
    'while true do pcall(function() local s = "x" while true do s = s .. s end end) end',
    /^execution time exceeded|^not enough memory/,
  ],
  ['a huge string', 'local s = ("x"):rep(1 << 40)', /resulting string too large|not enough memory/],
  ['deep recursion', 'local function f(n) return 1 + f(n + 1) end f(1)', /stack overflow|not enough memory/],
  [
    'deep recursion in the parser',
    'load("return " .. ("("):rep(1e5) .. ("{"):rep(1e5)) error("survived")',
    /survived/,
  ],
  [
    'a hostile __index',
    'local t = setmetatable({}, { __index = function(t, k) return t[k] end }) print(t.x)',
    /C stack overflow|stack overflow/,
  ],
  [
    'a hostile __tostring',
    'print(setmetatable({}, { __tostring = function() while true do end end }))',
    /^execution time exceeded/,
  ],
  [
    'a hostile __eq and __gc',
    'setmetatable({}, { __gc = function() while true do end end })',
    /finalizers \(__gc\) are not available/,
  ],
  [
    'a comparator without end',
    'table.sort({ 1, 2, 3 }, function() while true do end end)',
    /^execution time exceeded/,
  ],
  [
    'coroutines without end',
    'while true do local c = coroutine.wrap(function() while true do coroutine.yield() end end) c() end',
    /^execution time exceeded|^not enough memory/,
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
  [
    'huge JSON',
    'local s = json.encode(("x"):rep(4e6)) while true do json.decode(s) end',
    /^execution time exceeded|^not enough memory/,
  ],
  ['a huge payload', 'print(storage.write("k", ("x"):rep(1e6))) error("over")', /over/],
  ['deep JSON', 'json.decode(("["):rep(1e6))', /nested deeper/],
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

describe('the script zoo', () => {
  let rules: SupervisedRules;
  before(async () => {
    const limits = {
      lua: { ...QUICK, processorBurstMs: 300 },
      rules: { threads: 1, restartFirstMs: 60_000 },
    };
    rules = superviseRules({ limits });
    rules.start('neighbour', NEIGHBOUR);
    await rules.heard('neighbour', /tick/);
  });
  after(() => rules.stop());

  for (const [number, [animal, code, says, fate]] of ZOO.entries())
    test(`${animal}: ends in time and says why, its neighbour goes on`, async () => {
      const id = `animal-${number}`;
      const ticksBefore = rules.said.filter(({ message }) => message === 'tick').length;
      rules.start(id, code);
      await rules.heard(id, says);
      if (fate === 'stuck') await rules.heard('neighbour', new RegExp(`rule slug-${id} was stuck`));
      if (fate !== 'alive') await until(() => rules.states(id).at(-1) === 'STOPPED');
      await until(() => rules.said.filter(({ message }) => message === 'tick').length > ticksBefore + 2);
      rules.supervisor.receive({ type: 'stop', ruleId: id });
      assert.equal(rules.states('neighbour').at(-1), 'STARTED');
    });

  test('no fault of ours was met', () => {
    assert.deepEqual(
      rules.lines.filter(({ level }) => level === 'error'),
      [],
    );
  });
});

describe('a rule that got stuck', () => {
  test('starts again on a thread of its own, so that its neighbours pay once', async () => {
    const limits = { lua: QUICK, rules: { threads: 1, restartFirstMs: 50, restartMaxMs: 100 } };
    const rules = superviseRules({ limits });
    rules.start('neighbour', NEIGHBOUR);
    await rules.heard('neighbour', /tick/);
    rules.start('bomb', BOMB);
    await rules.heard('bomb', /^execution time exceeded: stuck/, 3);
    assert.equal(rules.said.filter(({ message }) => /starts again/.test(message)).length, 1);
    assert.ok(rules.said.some(({ message }) => message === 'rule restarts in 0.05 s'));
    await rules.stop();
  });

  test('is told from its neighbours by the limits of the product too', async () => {
    const rules = superviseRules();
    rules.start('neighbour', NEIGHBOUR);
    rules.start('other', NEIGHBOUR);
    await Promise.all([rules.heard('neighbour', /tick/), rules.heard('other', /tick/)]);
    rules.start('bomb', BOMB);
    await rules.heard('bomb', /^execution time exceeded: stuck/);
    await rules.stop();
  });
});
