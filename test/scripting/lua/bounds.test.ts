/** Bounds inside of one instruction and one call: steps of the C library, depth of calls. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testScheduler, testScript } from '../../support/lua.ts';
import { settle } from '../../support/test-clock.ts';

const TOO_MUCH = /^main\.lua:1: too much work at once: take a simpler pattern, less text or a smaller table$/;
/** So that steps alone count, on whatever machine. */
const UNHURRIED = { nativeMs: 500_000, turnMs: 600_000 };
const FEW_STEPS = { ...UNHURRIED, sliceSteps: 2_000_000 };
const MIB = 1_048_576;

describe('work inside of the C library', () => {
  const endless: [title: string, call: string][] = [
    ['a pattern with many ways to fail', '("a"):rep(40):find(("a*"):rep(40) .. "b")'],
    ['lazy repetition, at every place', '("a"):rep(1e5):match("a-b")'],
    ['repetition of a set, at every place', '("a"):rep(1e5):match("[a-z]*%d")'],
    ['a bracket that is not closed, at every place', '("("):rep(1e5):find("%b()")'],
    ['a capture that is looked for again', '("a"):rep(1e5):find("(.-)%1b")'],
    ['gsub', '("a"):rep(1e5):gsub("a-b", "")'],
    ['gmatch', '("a"):rep(1e5):gmatch("a-b")()'],
    ['a plain text in another', '("a"):rep(2e5):find(("a"):rep(1e5) .. "b", 1, true)'],
    ['repeating nothing', '(""):rep(1 << 50)'],
    ['moving nothing', 'table.move({}, 1, 1 << 50, 2)'],
    [
      'joining nothing',
      'table.concat(setmetatable({}, { __index = function() return "" end, __len = function() return 1 << 50 end }))',
    ],
    [
      'inserting into what says it is long',
      'table.insert(setmetatable({}, { __len = function() return 1 << 50 end }), 1, 1)',
    ],
    [
      'removing from what says it is long',
      'table.remove(setmetatable({}, { __len = function() return 1 << 50 end }), 1)',
    ],
    [
      'sorting long texts',
      'table.sort((function() local t = {} for i = 1, 1e3 do t[i] = ("x"):rep(1e4) .. i end return t end)())',
    ],
    ['a comparator without end', 'table.sort({ 1, 2 }, function() while true do end end)'],
    [
      'a comparator that catches its end',
      'table.sort({ 1, 2 }, function() while true do pcall(function() while true do end end) end end)',
    ],
  ];
  for (const [title, call] of endless)
    test(`work inside of the C library is bounded by its steps: ${title}; the script may catch that and goes on`, async () => {
      const { run, printed } = testScript({ limits: FEW_STEPS });
      assert.match((await run(`local x = ${call}`))?.message ?? 'it ended', TOO_MUCH);
      assert.equal(await run(`print(select(2, pcall(function() return ${call} end)))`), undefined);
      assert.match(printed[0] ?? '', TOO_MUCH);
      assert.equal(await run('print(("k=v"):match("(%w)=(%w)"))'), undefined);
      assert.equal(printed[1], 'k\tv');
    });

  test('work inside of the C library is bounded by time, too, where steps take longer', async () => {
    const limits = { nativeMs: 30, turnMs: 600_000, sliceSteps: Number.MAX_SAFE_INTEGER };
    const { run } = testScript({ limits });
    assert.match((await run('("a"):rep(40):find(("a*"):rep(40) .. "b")'))?.message ?? 'it ended', TOO_MUCH);
  });

  test('work inside of the C library counts for the turn, whatever the script catches', async () => {
    const { run } = testScript({ limits: { nativeMs: 30, turnMs: 60 } });
    const failure = await run('while true do pcall(string.find, ("a"):rep(40), ("a*"):rep(40) .. "b") end');
    assert.equal(failure?.message, 'execution time exceeded');
  });

  test('work inside of the C library leaves room for what honest scripts do with the largest texts and tables', async () => {
    const { run, printed } = testScript({ limits: UNHURRIED, memoryBytes: 64 * MIB });
    const failure = await run(`
      local words, pairs = ("ab  cd "):rep(1e6), ('{"name": "value", "x": 1},'):rep(2.5e5)
      print(#words:gsub("%s+", " "), #pairs:gsub('"([^"]*)"', "%1"), (words .. "end"):match("^.-(end)$"))
      words, pairs = nil, nil
      local values = {}
      for i = 1, 100000 do values[i] = math.random() end
      table.sort(values, function(a, b) return a > b end)
      print(values[1] > values[100000])
      for i = 1, 200000 do values[i] = "key" .. i end
      table.sort(values)
      print(values[1], values[200000])`);
    assert.equal(failure, undefined);
    assert.deepEqual(printed, ['6000000\t5000000\tend', 'true', 'key1\tkey99999']);
  });

  test('work inside of the C library lets the script beside it have its turn after each call', async () => {
    const slices: string[] = [];
    const scheduler = testScheduler({}, (runnable) =>
      slices.push(runnable === hog.script ? 'hog' : 'neighbour'),
    );
    const hog = testScript({ scheduler, limits: { ...FEW_STEPS, sliceMs: 0 } });
    const neighbour = testScript({ scheduler });
    const bombs = 'for _ = 1, 4 do pcall(string.find, ("a"):rep(40), ("a*"):rep(40) .. "b") end';
    const hogging = hog.run(bombs);
    for (let round = 0; round < 3; round++) {
      await settle();
      await neighbour.run('local x = 1');
    }
    assert.equal(await hogging, undefined);
    const between = slices.slice(slices.indexOf('neighbour'), slices.lastIndexOf('neighbour'));
    assert.ok(between.includes('hog'), slices.join(' '));
  });
});

describe('calls without end', () => {
  const RULE = { limits: UNHURRIED, memoryBytes: 32 * MIB };
  const deep: [title: string, source: string][] = [
    ['the smallest frame', 'local function f() return 1 + f() end f()'],
    [
      'a large frame',
      `local function f(...) local ${Array.from({ length: 180 }, (_, i) => `v${i}`).join()} return 1 + f(...) end f()`,
    ],
    ['in a coroutine', 'local function f() return 1 + f() end coroutine.wrap(function() f() end)()'],
  ];
  for (const [title, source] of deep)
    test(`endless calls are a stack overflow at the line, not the end of memory: ${title}`, async () => {
      const { run, printed } = testScript(RULE);
      const failure = await run(source);
      assert.equal(failure?.reason, 'error');
      assert.match(failure.message, /^main\.lua:1: (main\.lua:1: )?stack overflow$/);
      assert.equal(await run(`print(pcall(function() ${source} end))`), undefined);
      assert.deepEqual(printed, [`false\t${failure.message}`]);
    });

  test('endless calls have a handler that runs, even one that calls endlessly itself', async () => {
    const { run, printed } = testScript(RULE);
    await run('function f() return 1 + f() end print(xpcall(f, function(m) return "handled: " .. m end))');
    assert.equal(await run('print((xpcall(f, f)))'), undefined);
    assert.deepEqual(printed, ['false\thandled: main.lua:1: stack overflow', 'false']);
  });

  test('the bound of calls leaves room for honest recursion', async () => {
    const { run, printed } = testScript(RULE);
    const failure = await run('local function f(n) return n == 0 and 0 or 1 + f(n - 1) end print(f(40000))');
    assert.deepEqual([failure, printed], [undefined, ['40000']]);
  });
});
