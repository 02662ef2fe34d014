/**
 * Lua files joined into one, run by the machine that runs them later (docs/interface/lua-devices.md#several-files).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LuaFactory } from 'wasmoon';
import { findPreloads, findRequires } from '../../../src/capabilities/blueprints/source/lua-requires.ts';
import { testScript } from '../../support/lua.ts';
import { compiled } from './support.ts';

const manifest = (options: string): string =>
  `blueprint_spec: device/3.0\ndisplay_name: S\nruntime: {type: lua, options: {${options}}}\n`;

function scriptOf(options: string, files: Record<string, string>): string {
  return compiled(manifest(options), files).script ?? '';
}

/** What the script returns, or its error's text. */
async function run(script: string): Promise<unknown> {
  const engine = await new LuaFactory().createEngine();
  try {
    engine.global.set('script', script);
    const [isOk, value] = (await engine.doString(
      'return {pcall(function() return assert(load(script, "@main.lua"))() end)}',
    )) as [boolean, unknown];
    return isOk ? value : String(value);
  } finally {
    engine.global.close();
  }
}

describe('a joined script', () => {
  test('a joined script of one file is that file, byte for byte', () => {
    const source = 'local s = "ü\\255"\nreturn s\n';
    assert.equal(scriptOf('file: fw.lua', { 'fw.lua': source }), source);
  });

  test('a joined script finds modules of its folder, in folders below, and as init files', async () => {
    const script = scriptOf('dir: src', {
      'src/main.lua': 'local a = require("lib.a")\nreturn a.name .. require "b" .. require("./c")',
      'src/lib/a.lua': 'return { name = "a" }',
      'src/b/init.lua': 'return "b"',
      'src/c.lua': '-- a comment at the end\nreturn "c" --',
    });
    assert.equal(await run(script), 'abc');
  });

  test('a joined script loads a module once under any name, and a cycle gets what exists by then', async () => {
    const script = scriptOf('dir: .', {
      'main.lua': 'count = 0\nlocal a = require("a")\nassert(require("./a") == a)\nreturn count .. a.b.seen',
      'a.lua': 'count = count + 1\nlocal a = {}\npackage.loaded["a"] = a\na.b = require("b")\nreturn a',
      'b.lua': 'return { seen = type(require("a")) }',
    });
    assert.equal(await run(script), '1table');
  });

  test('a joined script finds a module required as ./name, on any machine and module', async () => {
    const script = scriptOf('dir: src', {
      'src/main.lua':
        'local near = require("./near")\nprint(near.name .. require("./deep/far"))\nreturn near.name',
      'src/near.lua': 'return { name = "near " }',
      'src/deep/far.lua': 'return require("./near") == require("near") and "same" or "other"',
    });
    assert.equal(await run(script.replace('print', 'type')), 'near ');
    const machine = testScript();
    assert.equal((await machine.run(script))?.message, undefined);
    assert.deepEqual(machine.printed, ['near same']);
  });

  test('a joined script keeps every byte of a module', async () => {
    const script = scriptOf('dir: .', {
      'main.lua': 'return require("m")',
      'm.lua':
        'local t = [[\n"quoted" \\n \u0001 é]]\nreturn t == "\\"quoted\\" \\\\n \\1 \\195\\169" and "same" or t',
    });
    assert.equal(await run(script), 'same');
  });

  test('a joined script names file and line of an error, in modules and in the entry', async () => {
    const files = {
      'main.lua': 'local m = require("m")\n\nif m.fail then m.fail() end\nerror("entry")',
      'm.lua': 'local m = {}\n\nfunction m.fail() error("module") end\nreturn m',
    };
    assert.match(String(await run(scriptOf('dir: .', files))), /^\.\/m\.lua:3: module/);
    assert.match(
      String(await run(scriptOf('dir: .', { ...files, 'm.lua': 'return {}' }))),
      /^main\.lua:4: entry/,
    );
    assert.match(String(await run(scriptOf('dir: ., amalg_mode: nodebug', files))), /^\?:3: module/);
  });

  test('a joined script holds what is required, and with isolate the whole folder', () => {
    const files = {
      'src/main.lua': 'require("used")\nlocal name = "un" .. "used"\nreturn pcall(require, name)',
      'src/used.lua': 'return 1',
      'src/unused.lua': 'return 2',
      'other.lua': 'return 3',
    };
    assert.ok(!scriptOf('dir: src', files).includes('unused.lua'));
    const all = scriptOf('dir: src, amalg_mode: [isolate]', files);
    assert.ok(all.includes('./unused.lua'));
    assert.ok(!all.includes('other.lua'));
  });
});

describe('requires', () => {
  const cases: [source: string, found: [module: string, isOptional: boolean][]][] = [
    [
      'require "a"; require\'b\'; require[[c]]; require("d")',
      [
        ['a', false],
        ['b', false],
        ['c', false],
        ['d', false],
      ],
    ],
    ['require(name) require("a" .. b) require "c"', [['c', false]]],
    ['-- require "a"\n--[==[ require "b" ]==] require "c"', [['c', false]]],
    ['local s = "require \\"a\\"" .. [[require "b"]]', []],
    ['x.require("a") x:require("b") x = require', []],
    [
      'pcall(require, "a") local ok = pcall(function() require("b") end) require("c")',
      [
        ['a', true],
        ['b', true],
        ['c', false],
      ],
    ],
    ['xpcall(function() return require "a" end, print)', [['a', true]]],
    ['return require', []],
    [
      "return a .. require 'b' ::label:: require 'c'",
      [
        ['b', false],
        ['c', false],
      ],
    ],
  ];
  for (const [source, found] of cases)
    test(JSON.stringify(source), () =>
      assert.deepEqual(
        findRequires(source).map(({ module, isOptional }) => [module, isOptional]),
        found,
      ),
    );
});

describe('a require is conditional', () => {
  const cases: [source: string, conditional: string[]][] = [
    [
      'if require("a") then require "b" elseif require("c") then require("d") else require("e") end require "f"',
      ['b', 'c', 'd', 'e'],
    ],
    [
      'while require("a") do require "b" end for i = 1, require("c") do require "d" end require "e"',
      ['b', 'd'],
    ],
    ['local x = y or require("a") local z = y and require "b" local w = require("c") or 1', ['a', 'b']],
    ['do require "a" end repeat require "b" until require("c") require "d"', []],
    ['local function f() if x then return 1 end require "a" end require "b"', []],
    ['if x then local f = function() for _ in y do end require "a" end end require "b"', ['a']],
    ['local t = { ["if"] = 1 } -- if\nlocal s = "if then" require "a"', []],
  ];
  for (const [source, conditional] of cases)
    test(JSON.stringify(source), () =>
      assert.deepEqual(
        findRequires(source)
          .filter(({ isConditional }) => isConditional)
          .map(({ module }) => module),
        conditional,
      ),
    );
});

describe('modules that a text brings itself', () => {
  const cases: [source: string, names: string[]][] = [
    ['package.preload["a.b"] = function(...) end package.preload[ \'c\' ]=1', ['a.b', 'c']],
    ['package . preload.d = f; do local _ENV = _ENV package.preload["e"] = f end', ['d', 'e']],
    ['-- package.preload["x"]\nlocal s = "package.preload.y" preload["z"] = 1 package.loaded["w"] = 1', []],
    ['package.preload[name] = f package.preload = {} package.preload:x("y")', []],
  ];
  for (const [source, names] of cases)
    test(JSON.stringify(source), () => assert.deepEqual(findPreloads(source), names));

  test('modules defined in a text are found by a require of any file, and run', async () => {
    const script = scriptOf('dir: .', {
      'main.lua':
        'package.preload["json2"] = function() return { v = 2 } end\nlocal m = require("m")\nreturn m + require("./json2").v',
      'm.lua': 'return require("json2").v',
    });
    assert.equal(await run(script.replace('"./json2"', '"json2"')), 4);
    const machine = testScript();
    assert.equal(
      (await machine.run(script.replace('return m +', 'print(m +').concat(')')))?.message,
      undefined,
    );
    assert.deepEqual(machine.printed, ['4']);
  });
});
