import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, assert as assertProperty, constantFrom, integer, oneof, property, tuple } from 'fast-check';
import { LIMITS } from '../../../src/lib/limits.ts';
import { epochOf, offsetS, zonedTime } from '../../../src/scripting/lua/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { testScript, type TestScriptOptions } from '../../support/lua.ts';
import { runs } from '../../support/runs.ts';

async function prints(source: string, options: TestScriptOptions = {}): Promise<string[]> {
  const { run, printed, script } = testScript(options);
  const failure = await run(source);
  script.close();
  assert.equal(failure, undefined);
  return printed;
}

describe('habits of Lua 5.3', () => {
  test('any number is a seed, and what 5.3 only calls deprecated is there', async () => {
    assert.deepEqual(
      await prints(
        'math.randomseed(0.5) local a = math.random(1000000) math.randomseed(0.5) print(a == math.random(1000000))\n' +
          'math.randomseed(1e300) math.randomseed(7) local b = math.random(1000000) math.randomseed(7) print(b == math.random(1000000))\n' +
          'print(math.pow(2, 10), math.log10(1000), math.ldexp(3, 4))\n' +
          'print(math.cosh(0), math.sinh(0), math.tanh(0), math.tanh(1000))',
      ),
      ['true', 'true', '1024.0\t3.0\t48.0', '1.0\t0.0\t0.0\t1.0'],
    );
  });

  test('text of a whole number counts as one in bitwise operations', async () => {
    assert.deepEqual(
      await prints(
        'print("3" & 1, 4 | "0x10", "6" ~ "3", ~"0", "1" << 4, "256.0" >> 4)\n' +
          'for _, text in ipairs({ "x", "1.5" }) do print(select(2, pcall(function() return text & 1 end))) end\n' +
          'print(pcall(function() return {} & "1" end))',
      ),
      [
        '1\t20\t5\t-1\t16\t16',
        'main.lua:2: attempt to perform bitwise operation on a string value',
        'main.lua:2: number has no integer representation',
        'false\tmain.lua:3: attempt to perform bitwise operation on a table value',
      ],
    );
  });
});

test('setmetatable names itself in its errors', async () => {
  assert.deepEqual(await prints('print(pcall(function() local x = setmetatable(1, {}) end))'), [
    "false\tmain.lua:1: bad argument #1 to 'setmetatable' (table expected, got number)",
  ]);
});

test('errors about arguments are those of the line that called', async () => {
  const calls = [
    ['coroutine.resume(nil)', "bad argument #1 to 'resume' (thread expected, got nil)"],
    ['coroutine.status({})', "bad argument #1 to 'status' (thread expected, got table)"],
    ['coroutine.close(5)', "bad argument #1 to 'close' (thread expected, got number)"],
    ['coroutine.wrap("x")', "bad argument #1 to 'wrap' (function expected, got string)"],
    ['load("x", true)', "bad argument #2 to 'load' (string expected, got boolean)"],
    ['load("x", "x", {})', "bad argument #3 to 'load' (string expected, got table)"],
    ['math.pow(2)', "bad argument #2 to 'pow' (number expected, got nil)"],
    ['math.log10({})', "bad argument #1 to 'log10' (number expected, got table)"],
  ] as const;
  const source = calls
    .map(([call]) => `print(select(2, pcall(function() local x = ${call} end)))`)
    .join('\n');
  assert.deepEqual(
    await prints(source),
    calls.map(([, message], index) => `main.lua:${index + 1}: ${message}`),
  );
});

test('a module that raised is begun anew by the next require', async () => {
  assert.deepEqual(
    await prints(
      'package.preload.meter = function()\n' +
        '  starts = (starts or 0) + 1\n  if starts < 3 then error("start " .. starts) end\n  return starts\nend\n' +
        'for _ = 1, 4 do print(pcall(require, "meter")) end',
    ),
    ['false\tmain.lua:3: start 1', 'false\tmain.lua:3: start 2', 'true\t3\t:preload:', 'true\t3'],
  );
});

describe('functions that are read when they are first called', () => {
  test("functions that are read when they are first called stay the same functions, and errors name the script's line", async () => {
    assert.deepEqual(
      await prints(
        'local first = {}\n' +
          'for name, fn in pairs(coroutine) do first[name] = fn end first.load, first.date, first.pow = load, os.date, math.pow\n' +
          'print(load("return 1")(), coroutine.wrap(function() return coroutine.isyieldable() end)(), math.pow(2, 2), os.date("!%X", 0))\n' +
          'for name, fn in pairs(coroutine) do assert(first[name] == fn, name) end\n' +
          'print(first.load == load, first.date == os.date, first.pow == math.pow)\n' +
          'print(pcall(function() load(1) end))\nprint(pcall(function() os.time({}) end))',
      ),
      [
        '1\ttrue\t4.0\t00:00:00',
        'true\ttrue\ttrue',
        "false\tmain.lua:6: bad argument #1 to 'load' (function expected, got number)",
        "false\tmain.lua:7: field 'year' missing in date table",
      ],
    );
  });

  test("functions that are read when they are first called use Lua's own, whatever the script has replaced", async () => {
    assert.deepEqual(
      await prints(
        'local print, resume, inspect, wrap = print, coroutine.resume, inspect, coroutine.wrap\n' +
          'local function spoiled() error("spoiled") end\n' +
          'for _, t in ipairs({ string, table, math, coroutine }) do for name in pairs(t) do t[name] = spoiled end end\n' +
          'tostring, type, setmetatable, ipairs, error = nil, spoiled, spoiled, spoiled, spoiled\n' +
          'print(wrap(function() return 1 end)(), inspect({ a = { 1 } }, { newline = "" }), os.date("!%X", 0), "3" & 1)',
      ),
      ['1\t{  a = { 1 }}\t00:00:00\t1'],
    );
  });
});

describe('os', () => {
  const clock = (): TestClock => new TestClock(Date.UTC(2026, 2, 29, 0, 59, 59, 900));

  test('os tells the name of a zone as the C library does', async () => {
    for (const [timeZone, names] of [
      ['Europe/Berlin', 'CET CEST'],
      ['Europe/London', 'GMT BST'],
      ['America/New_York', 'EST EDT'],
      ['Asia/Kolkata', 'IST IST'],
      ['Asia/Tokyo', 'JST JST'],
      ['Asia/Jerusalem', 'IST IDT'],
      ['Australia/Sydney', 'AEDT AEST'],
      ['America/Sao_Paulo', '-03 -03'],
      ['Asia/Kathmandu', '+0545 +0545'],
      ['UTC', 'UTC UTC'],
    ] as const)
      assert.deepEqual(
        await prints('print(os.date("%Z", 1767225600) .. " " .. os.date("%Z", 1782864000))', {
          clock: clock(),
          timeZone,
        }),
        [names],
        timeZone,
      );
  });

  test('os calls universal time GMT, as the C library does, whatever the zone of the site', async () => {
    for (const timeZone of ['UTC', 'Asia/Tokyo'])
      assert.deepEqual(
        await prints('print(os.date("!%Z %z %H:%M", 3660), os.date("!*t", 3660).isdst)', {
          clock: clock(),
          timeZone,
        }),
        ['GMT +0000 01:01\tfalse'],
      );
  });

  test('os tells the time of the site, and what its zone does with the clock', async () => {
    assert.deepEqual(
      await prints(
        'print(os.time(), os.date("%H:%M:%S %z %Z"), os.date("!%H:%M"), os.date("*t").isdst)\n' +
          'print(os.date("%H:%M %z", os.time() + 1), os.date("*t", os.time() + 1).isdst)\n' +
          'print(os.date("!%c", os.time{ year = 2026, month = 3, day = 29, hour = 2, min = 30 }))\n' +
          'print(os.time{ year = 2026, month = 10, day = 25, hour = 2, isdst = true } - os.time{ year = 2026, month = 10, day = 25, hour = 2, isdst = false })',
        { clock: clock(), timeZone: 'Europe/Berlin' },
      ),
      [
        '1774745999\t01:59:59 +0100 CET\t00:59\tfalse',
        '03:00 +0200\ttrue',
        'Sun Mar 29 01:30:00 2026',
        '-3600',
      ],
    );
  });

  test('os measures elapsed time from the start of the script', async () => {
    const testClock = clock();
    const { run, printed, script } = testScript({ clock: testClock });
    await run('print(os.clock(), system.uptime(), os.difftime(7, 5))');
    await testClock.advance(2_500);
    await run('print(os.clock(), system.uptime())');
    script.close();
    assert.deepEqual(printed, ['0.0\t0\t2.0', '2.5\t2']);
  });

  test('a wait ends with its script and leaves no timer behind', async () => {
    const testClock = clock();
    const { run, script } = testScript({ clock: testClock });
    const waiting = run('system.delay(1e9)');
    await until(() => testClock.waiting > 0);
    script.close();
    assert.equal((await waiting)?.reason, 'stopped');
    assert.equal(testClock.waiting, 0);
  });

  test('takes text of a number for a time', async () => {
    assert.deepEqual(await prints('print(os.date("!%X", "3661"), pcall(os.date, "%X", "x"))'), [
      "01:01:01\tfalse\tbad argument #2 to 'date' (number has no integer representation)",
    ]);
  });

  test('os.difftime of what is no number names the argument and the line of the script', async () => {
    assert.deepEqual(
      await prints(
        'print(os.difftime("7", 5), pcall(function()\nreturn (os.difftime(7, {})) end))\n' +
          'print(pcall(os.difftime))',
      ),
      [
        "2.0\tfalse\tmain.lua:2: bad argument #2 to 'difftime' (number expected, got table)",
        "false\tbad argument #1 to 'difftime' (number expected, got nil)",
      ],
    );
  });

  test('os.date keeps the bytes between its conversions', async () => {
    assert.deepEqual(await prints('print(os.date("!%H\\176\\255ä%M", 60):byte(1, -1))'), [
      [...Buffer.from('00'), 176, 255, ...Buffer.from('ä01')].join('\t'),
    ]);
  });

  test('os.time refuses impossible times', async () => {
    const lines = await prints(
      'print(pcall(os.date, "%E", 0))\nprint(pcall(os.date, "*t", 1 << 60))\nprint(pcall(os.date, "%c", 0.5))\n' +
        'print(pcall(os.time, { year = 1 << 40, month = 1, day = 1 }))\nprint(pcall(os.time, 5))',
    );
    for (const line of lines) assert.match(line, /^false\t/);
  });

  test('os tells the offset of now by the calendar, however close other zones and changes of the clock are', () => {
    const zones = Intl.supportedValuesOf('timeZone');
    const change = Date.UTC(2026, 2, 29, 1);
    const atMs = oneof(
      integer({ min: change - 90_000, max: change + 90_000 }),
      integer({ min: 1e11, max: 4e12 }),
    );
    assertProperty(
      property(array(tuple(constantFrom('Europe/Berlin', ...zones), atMs), { minLength: 2 }), (asked) => {
        for (const [zone, epochMs] of asked) {
          const time = zonedTime(Math.floor(epochMs / 1_000), zone);
          assert.equal(offsetS(epochMs, zone), time.offsetNanoseconds / 1_000_000_000);
        }
      }),
    );
    assert.deepEqual(
      [change - 1, change].map((ms) => offsetS(ms, 'Europe/Berlin')),
      [3_600, 7_200],
    );
    assert.deepEqual(
      ['Europe/Berlin', 'UTC'].map((zone) => offsetS(change, zone)),
      [7_200, 0],
    );
  });

  test('civil time and epoch are each other’s inverse in every zone, except in the hour that occurs twice', () => {
    const zones = Intl.supportedValuesOf('timeZone');
    assertProperty(
      property(constantFrom(...zones), integer({ min: 0, max: 4_102_444_800 }), (zone, epochS) => {
        const fields = zonedTime(epochS, zone);
        const candidates = [true, false].map((isSummerTime) => epochOf(fields, isSummerTime, zone));
        assert.ok(candidates.includes(epochS), `${zone} ${epochS} ${String(candidates)}`);
      }),
      { numRuns: runs(2_000) },
    );
  });
});

describe('inspect', () => {
  test('inspect shows any value, cycles and strange keys included', async () => {
    const lines = await prints(
      'print(inspect({ 1, "two", { 3 } }))\n' +
        'print(inspect({ name = "x", ["end"] = 1, [10] = true, sub = { a = {} } }))\n' +
        'local t = { 1 } t.self = t print(inspect(t))\n' +
        'print(inspect({ a = { b = { c = 1 } } }, { depth = 2, newline = "", indent = "" }))\n' +
        'print(inspect("a\\n\\0\\"b\\""), inspect(nil), inspect(1.0), (inspect(print):gsub("%d", "N")))\n' +
        'print(pcall(inspect, 1, 5))',
    );
    assert.deepEqual(lines, [
      '{ 1, "two", { 3 } }',
      '{\n  [10] = true,\n  ["end"] = 1,\n  name = "x",\n  sub = {\n    a = {}\n  }\n}',
      '<1>{ 1,\n  self = <table 1>\n}',
      '{a = {b = {...}}}',
      '\'a\\n\\000"b"\'\tnil\t1.0\t<function N>',
      "false\tbad argument #2 to 'inspect' (table expected, got number)",
    ]);
  });
});

describe('scheduler', () => {
  test('scheduler runs a function every period, for the first time after one period', async () => {
    const clock = new TestClock();
    const { run, printed, script } = testScript({ clock });
    await run('print(math.type(scheduler.add(1000, function() print(os.clock()) end)))');
    await clock.advance(3_500);
    script.close();
    assert.deepEqual(printed, ['integer', '1.0', '2.0', '3.0']);
  });

  test('scheduler skips a run while the last one waits, without catching up', async () => {
    const clock = new TestClock();
    const { run, printed, script } = testScript({ clock });
    await run('scheduler.add(1000, function() print(os.clock()) system.delay(2500) end)');
    await clock.advance(9_000);
    script.close();
    assert.deepEqual(printed, ['1.0', '4.0', '7.0']);
  });

  test('scheduler goes on after an error in a function, and reports it', async () => {
    const clock = new TestClock();
    const { run, failures, script } = testScript({ clock });
    await run('\nscheduler.add(1000, function() error("bad day") end)');
    await clock.advance(2_000);
    script.close();
    assert.deepEqual(
      failures.map(({ message }) => message),
      ['main.lua:2: bad day', 'main.lua:2: bad day'],
    );
  });

  test('scheduler lets a function remove itself, and ignores unknown numbers', async () => {
    const clock = new TestClock();
    const { run, printed, script } = testScript({ clock });
    await run(
      'local id id = scheduler.add(1, function() print(os.clock()) scheduler.remove(id * 1.0) end) scheduler.remove(99) scheduler.remove(0.5) scheduler.remove(nil)',
    );
    await clock.advance(1_000);
    assert.equal(script.jobs.count, 0);
    script.close();
    assert.deepEqual(printed, [`${LIMITS.lua.jobPeriodMs / 1_000}`]);
  });

  test(`scheduler refuses invalid arguments, and more than ${LIMITS.lua.jobs} functions`, async () => {
    const lines = await prints(
      'local f = function() end\n' +
        'print(pcall(scheduler.remove, scheduler.add("1e3", f)))\n' +
        'print(pcall(scheduler.add, 0, f)) print(pcall(scheduler.add, "x", f)) print(pcall(scheduler.add, 1, nil))\n' +
        `for i = 1, ${LIMITS.lua.jobs} do scheduler.add(1000, f) end print(pcall(scheduler.add, 1000, f))`,
    );
    assert.deepEqual(lines, [
      'true',
      "false\tbad argument #1 to 'add' (period must be positive)",
      "false\tbad argument #1 to 'add' (number expected, got string)",
      "false\tbad argument #2 to 'add' (function expected, got nil)",
      `false\ttoo many scheduled functions, at most ${LIMITS.lua.jobs}`,
    ]);
  });
});
