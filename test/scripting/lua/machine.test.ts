import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { LuaError, Scheduler } from '../../../src/scripting/lua/index.ts';
import { nextTurn } from '../../../src/platform/clock/index.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { system, testScheduler, testScript } from '../../support/lua.ts';

/** Short enough for tests, long enough for a machine under load. */
const QUICK = { turnMs: 60 };

const WAITING = {
  libraries: [{ name: 'wait', source: 'local host, kit = ...\nwait = kit.wait("wait")' }],
};

/** `wait(x)` ends when the test says so. */
function waitingScript(options: { overlaps?: boolean } = {}) {
  const waiting: { value: unknown; goOn: () => void }[] = [];
  const made = testScript({
    ...WAITING,
    ...options,
    functions: {
      wait: {
        waits: (values) =>
          new Promise((resolve) => waiting.push({ value: values[0], goOn: () => resolve(values) })),
      },
    },
  });
  return { ...made, waiting };
}

describe('a wait for what is known already', () => {
  function knowingScript(limits: Partial<typeof QUICK> = {}) {
    return testScript({
      ...WAITING,
      limits,
      functions: { wait: { waits: (values) => (values[0] === undefined ? fails() : values) } },
    });
  }

  function fails(): never {
    throw new LuaError('not known');
  }

  test('a known value is returned at once, in a coroutine and in a protected call too', async () => {
    const { run, printed } = knowingScript();
    assert.equal(
      await run(
        'print(wait(1, "x", nil, { a = 2 }))\nprint(coroutine.wrap(function() return wait(3) end)())\n' +
          'print(pcall(function() local x = wait() end))',
      ),
      undefined,
    );
    assert.match(printed.join('\n'), /^1\tx\tnil\ttable: \S+\n3\nfalse\tmain.lua:3: not known$/);
  });

  test('a known value is no way around the limit on processor time', async () => {
    const { run } = knowingScript(QUICK);
    assert.equal((await run('while true do wait(1) end'))?.reason, 'time');
  });
});

describe('a Lua machine', () => {
  const runaways: [title: string, source: string][] = [
    ['an endless loop', 'while true do end'],
    ['an endless loop of protected calls', 'while true do pcall(function() while true do end end) end'],
    [
      'an endless loop with a message handler',
      'while true do xpcall(function() while true do end end, print) end',
    ],
    ['an endless loop in a coroutine', 'coroutine.wrap(function() while true do end end)()'],
    [
      'endless coroutines in a protected loop',
      'while true do pcall(coroutine.wrap(function() while true do end end)) end',
    ],
    [
      'an endless loop in a comparison of table.sort',
      'table.sort({ 1, 2, 3 }, function() while true do end end)',
    ],
    [
      'an endless metamethod',
      'local t = setmetatable({}, { __index = function(t, k) return t[k + 1] end }) while true do pcall(function() return t[1] end) end',
    ],
    ['an endless goto', '::a:: goto a'],
    [
      'calls of the host without end',
      'local s = ("x"):rep(10000) while true do pcall(json.encode, { s, s }) end',
    ],
    ['recursion without end', 'local function f() return pcall(f) and f() end while true do f() end'],
  ];
  for (const [title, source] of runaways)
    test(`a Lua machine stops ${title} at its limit, whatever it catches, and stays usable`, async () => {
      const { run, printed } = testScript({ limits: QUICK });
      const startedMs = system.monotonicMs();
      const failure = await run(source);
      assert.equal(failure?.reason, 'time', String(failure?.message));
      assert.ok(system.monotonicMs() - startedMs < 10_000);
      printed.length = 0;
      assert.equal(await run('print(1 + 1)'), undefined);
      assert.deepEqual(printed, ['2']);
    });

  const hogs: [title: string, source: string][] = [
    ['a table without end', 'local t = {} while true do t[#t + 1] = { #t } end'],
    ['a string that doubles', 'local s = "x" while true do s = s .. s end'],
    ['one huge string', 'return ("x"):rep(1 << 30)'],
    ['recursion without end', 'local function f() return 1 + f() end return f()'],
    ['closures that hold each other', 'local f while true do local g = f f = function() return g end end'],
  ];
  for (const [title, source] of hogs)
    test(`a Lua machine ends ${title} at the bound of memory, which it never exceeds, and stays usable`, async () => {
      const memoryBytes = 8 * 1_048_576;
      const { run, printed, script } = testScript({ memoryBytes });
      const failure = await run(source);
      assert.ok(
        failure?.reason === 'memory' || /stack overflow/.test(failure?.message ?? ''),
        String(failure?.message),
      );
      assert.ok(script.sizeBytes <= memoryBytes);
      assert.equal(await run('collectgarbage() print(collectgarbage("count") < 1000)'), undefined);
      assert.deepEqual(printed, ['true']);
    });

  test('a script that catches the end of memory again and again is given up', async () => {
    const limits = { turnMs: 600_000 };
    const { run, script } = testScript({ memoryBytes: 8 * 1_048_576, limits });
    const failure = await run(
      'local t = {} while true do pcall(function() while true do t[#t + 1] = ("x"):rep(1000) .. #t end end) end',
    );
    assert.equal(failure?.reason, 'memory');
    assert.equal(script.machine.failure?.message, 'not enough memory');
  });

  test('a script that catches the end of memory may go on with less', async () => {
    const { run, printed } = testScript({ memoryBytes: 8 * 1_048_576 });
    await run('print(pcall(string.rep, "x", 1 << 28)) print(#("x"):rep(1 << 20))');
    assert.deepEqual(printed, ['false\tnot enough memory', '1048576']);
  });

  test('a Lua machine has nothing of the world outside', async () => {
    const { run, printed } = testScript();
    const names =
      'io debug.getinfo debug.sethook debug.getregistry os.execute os.exit os.getenv os.remove os.rename ' +
      'os.tmpname os.setlocale dofile loadfile loadstring package.path package.cpath package.searchers ' +
      'package.loadlib string.dump warn host kit lua_version';
    await run(
      `for name in ("${names}"):gmatch("%S+") do\n` +
        '  local value = _G\n' +
        '  for part in name:gmatch("[^.]+") do value = value and value[part] end\n' +
        '  if value ~= nil then print(name) end\nend\n' +
        'print(load("\\27Lua", "b", "b"))\nprint(load("\\27Lua", "b", "bt"))\nprint(pcall(require, "io"))\n' +
        'print(pcall(setmetatable, {}, { __gc = print }))\nprint(collectgarbage("stop"), _VERSION)',
    );
    assert.deepEqual(printed, [
      "nil\tattempt to load a text chunk (mode is 'b')",
      "nil\tattempt to load a binary chunk (mode is 't')",
      "false\tmodule 'io' not found",
      'false\tfinalizers (__gc) are not available',
      '0\tLua 5.3',
    ]);
  });

  test('a Lua machine tells where an error was raised, and through which calls', async () => {
    const { run } = testScript();
    const failure = await run(
      'local function read(t)\n  return t.value.x\nend\nfunction update()\n  read({})\nend\nupdate()',
      'rules/night.lua',
    );
    assert.equal(failure?.reason, 'error');
    assert.match(failure?.message ?? '', /^rules\/night\.lua:2: attempt to index a nil value/);
    assert.deepEqual(failure?.traceback, [
      "rules/night.lua:2: in upvalue 'read'",
      "rules/night.lua:5: in global 'update'",
      'rules/night.lua:7: in main chunk',
    ]);
  });

  test('a Lua machine names an error that is no text by its type, and calls no metamethod', async () => {
    const { run } = testScript({ limits: QUICK });
    const hostile = 'error(setmetatable({}, { __tostring = function() while true do end end }))';
    assert.equal((await run(hostile))?.message, '(error object is a table value)');
  });

  test('a Lua machine names line and file of what does not compile', async () => {
    const failure = await testScript().run('local x = 1\nx = = 2');
    assert.deepEqual(
      [failure?.reason, failure?.message],
      ['syntax', "main.lua:2: unexpected symbol near '='"],
    );
  });

  test('a Lua machine waits through protected calls, coroutines, iterators and metamethods', async () => {
    const { run, printed, waiting } = waitingScript();
    const done = run(
      'local t = setmetatable({}, { __index = function(_, k) return wait(k) end, __call = wait })\n' +
        'local function each() return coroutine.wrap(function() for i = 1, 2 do coroutine.yield(wait(i)) end end) end\n' +
        'print(pcall(function() return wait("a"), t.b end))\n' +
        'for v in each() do print(v) end\n' +
        'print(coroutine.resume(coroutine.create(function() return wait(nil), wait("z") end)))',
    );
    for (let answers = 0; answers < 6; answers++) {
      await until(() => waiting.length > 0);
      waiting.shift()?.goOn();
    }
    assert.equal(await done, undefined);
    assert.deepEqual(printed, ['true\ta\tb', '1', '2', 'true\tnil\tz']);
  });

  test('a Lua machine names what waits when its call times out', async () => {
    const clock = new TestClock();
    const deadlines: (number | undefined)[] = [];
    const { run } = testScript({
      ...WAITING,
      clock,
      functions: {
        wait: {
          waits: async (_values, deadlineMs) => void deadlines.push(deadlineMs),
        },
      },
    });
    await run('wait(1) scheduler.add(1000, function() wait(2) end)');
    await clock.advance(1_000);
    await until(() => deadlines.length === 2);
    assert.deepEqual(deadlines, [undefined, clock.monotonicMs() + LIMITS.lua.callMs]);
  });

  test('a Lua machine refuses to wait where Lua cannot, before the host has begun', async () => {
    const { run, printed, waiting } = waitingScript();
    await run(
      'print(pcall(table.sort, { 2, 1 }, function() wait(1) end))\n' +
        'print(pcall(string.gsub, "a", "a", function() coroutine.wrap(function() wait(1) end)() end))',
    );
    assert.equal(printed.length, 2);
    for (const line of printed) assert.match(line, /^false\t.*attempt to yield across a C-call boundary$/);
    assert.equal(waiting.length, 0);
  });

  test('a coroutine that waits for the host cannot be resumed by others', async () => {
    const { run, printed, waiting } = waitingScript();
    const first = run('co = coroutine.create(function() return wait("x") end) print(coroutine.resume(co))');
    await until(() => waiting.length === 1);
    await run('print(coroutine.status(co), coroutine.resume(co)) print(pcall(coroutine.close, co))');
    waiting.shift()?.goOn();
    await first;
    assert.deepEqual(printed, [
      'normal\tfalse\tcannot resume non-suspended coroutine',
      'false\tcannot close a normal coroutine',
      'true\tx',
    ]);
  });

  test('a Lua machine lets others go on while one waits, unless nothing may overlap', async () => {
    for (const overlaps of [true, false]) {
      const { run, printed, waiting } = waitingScript({ overlaps });
      const first = run('wait(1) print("first")');
      const second = run('print("second")');
      await until(() => waiting.length === 1);
      if (overlaps) await second;
      waiting.shift()?.goOn();
      await Promise.all([first, second]);
      assert.deepEqual(printed, overlaps ? ['second', 'first'] : ['first', 'second']);
    }
  });

  test('a Lua machine never lets a task of the same script into a computation that was paused', async () => {
    const { run, printed } = testScript({ limits: { sliceMs: 0, hookInstructions: 10 } });
    const loop =
      'for i = 1, 200 do local before = n n = n + 1 for _ = 1, 50 do end assert(n == before + 1) end';
    await run('n = 0');
    const failures = await Promise.all([run(loop), run(loop), run(loop)]);
    await run('print(n)');
    assert.deepEqual([failures, printed], [[undefined, undefined, undefined], ['600']]);
  });

  test('a runaway script has one slice at most before its neighbour has its turn', async () => {
    const slices: string[] = [];
    const scheduler = testScheduler({}, (runnable) =>
      slices.push(runnable === hog.script ? 'hog' : 'neighbour'),
    );
    const hog = testScript({ scheduler, limits: { turnMs: 400 } });
    const neighbour = testScript({ scheduler });
    const hogging = hog.run('while true do pcall(function() while true do end end) end');
    for (let round = 0; round < 5; round++) {
      await settle();
      await neighbour.run('local x = 0 for i = 1, 100 do x = x + i end');
    }
    await hogging;
    const between = slices.slice(slices.indexOf('neighbour'), slices.lastIndexOf('neighbour')).join(' ');
    assert.match(between, /hog/);
    // One in the round that goes on, one in the next; a run of the neighbour is two calls.
    assert.doesNotMatch(between, /hog hog hog hog/);
  });

  test('a Lua machine pauses a script that takes more than its share of the processor', async () => {
    const clock = new TestClock();
    const { run, paused } = testScript({ clock, limits: { processorBurstMs: 5, processorPermille: 500 } });
    await run('for i = 1, 4e6 do end');
    assert.ok(paused.length > 0 && (paused[0] ?? 0) >= 1);
  });

  test('a Lua machine counts the processor time of a turn, and wall time where nothing can yield', async () => {
    const { run, printed } = testScript({ limits: QUICK, processorMs: () => 0 });
    assert.equal(await run('for i = 1, 3e7 do end print("done")'), undefined);
    assert.deepEqual(printed, ['done']);
    const failure = await run('table.sort({ 2, 1 }, function() for i = 1, 3e7 do end return false end)');
    assert.equal(failure?.reason, 'time');
  });

  test('makes no script pause for the time in which the machine stood still', async () => {
    const clock = new TestClock();
    const scheduler = new Scheduler({ clock, nextTurn, limits: LIMITS.lua });
    const paused: number[] = [];
    let slices = 0;
    const runnable = {
      get isReady() {
        return slices < 2;
      },
      slice: () => {
        slices++;
        clock.spend(60_000);
      },
    };
    scheduler.add(runnable, (durationMs) => paused.push(durationMs)).wake();
    await until(() => slices === 2);
    assert.deepEqual(paused, []);
  });

  test('a Lua machine ends a call after its time, waiting included', async () => {
    const clock = new TestClock();
    const { script, failures } = testScript({ clock });
    await script.run(Buffer.from('scheduler.add(1000, function() system.delay(60000) end)'), 'm.lua');
    await clock.advance(1_000);
    await clock.advance(10_000);
    assert.deepEqual(
      failures.map(({ reason, message }) => [reason, message]),
      [['time', 'execution time exceeded: not finished within 10 s, waiting included']],
    );
    script.close();
  });

  test('a Lua machine loads modules of the script, once each, and nothing else', async () => {
    const source = (text: string) => ({ source: Buffer.from(text), file: './lib/a.lua' });
    const { run, printed } = testScript({
      modules: { a: source('count = (count or 0) + 1\nreturn { n = count }'), bad: source('x = = 1') },
    });
    await run(
      'print(require("a") == require("./a"), count, require("json") == json, require("inspect")({ 1 }))\n' +
        'package.preload.own = function(name) return name .. "!" end\nprint(require("own"))\n' +
        'package.preload["./near"] = function(name) return "near as " .. name end\nprint(require("./near"))\n' +
        'print(pcall(require, "b"))\nprint(pcall(require, "bad"))',
    );
    assert.deepEqual(printed, [
      'true\t1\ttrue\t{ 1 }',
      'own!\t:preload:',
      'near as ./near\t:preload:',
      "false\tmodule 'b' not found",
      "false\terror loading module 'bad':\n\t./lib/a.lua:1: unexpected symbol near '='",
    ]);
  });

  test("a Lua machine loads a script's module under the name of a library, which that one may require", async () => {
    const { run, printed } = testScript();
    await run(
      'package.preload.json = function() count = (count or 0) + 1 return { below = require("json") } end\n' +
        'package.preload.inspect = function() end\n' +
        'print(require("json").below == json, require("json") == require("./json"), count, (require("inspect")))\n' +
        'package.preload.scheduler = function() return scheduler end\n' +
        'print(require("scheduler") == scheduler, require("scheduler") == scheduler, require("os") == os)',
    );
    assert.deepEqual(printed, ['true\ttrue\t1\ttrue', 'true\ttrue\ttrue']);
  });

  test('closing a Lua machine ends everything at once', async () => {
    const { run, script, waiting } = waitingScript();
    const waits = run('wait(1)');
    const runs = run('while true do end');
    await until(() => waiting.length === 1);
    script.close();
    assert.deepEqual([(await waits)?.reason, (await runs)?.reason], ['stopped', 'stopped']);
    assert.equal((await run('print(1)'))?.reason, 'stopped');
  });

  test('a hundred thousand host calls and tasks leave nothing behind', async () => {
    const { run, script } = testScript({ memoryBytes: 4 * 1_048_576 });
    await run('scheduler.add(50, function() for i = 1, 100 do json.decode(json.encode({ i })) end end)');
    for (let round = 0; round < 1_000; round++) await script.machine.call('job', [1n]);
    assert.ok(script.sizeBytes < 4 * 1_048_576);
    script.close();
  });
});
