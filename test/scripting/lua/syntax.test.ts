import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, test } from 'node:test';
import { assert as assertProperty, property, uint8Array } from 'fast-check';
import { createSyntaxChecker } from '../../../src/scripting/lua/index.ts';
import { runs } from '../../support/runs.ts';

const check = (text: string | Uint8Array) => createSyntaxChecker().check(Buffer.from(text));

describe('Lua syntax', () => {
  const faults: [title: string, source: string, line: number | undefined, message: string][] = [
    ['a second equals sign', 'x = = 1', 1, "unexpected symbol near '='"],
    [
      'an open block',
      'function f()\n  return 1\n',
      3,
      "'end' expected (to close 'function' at line 1) near <eof>",
    ],
    ['an open text', 'local a = 1\nlocal s = "abc\n', 2, "unfinished string near '\"abc'"],
    ['a goto without label', 'goto nowhere', 1, "no visible label 'nowhere' for <goto> at line 1"],
    [
      'a constant that is assigned',
      'local x <const> = 1\nx = 2',
      2,
      "attempt to assign to const variable 'x'",
    ],
    ['a binary chunk', '\u001bLua', undefined, "attempt to load a binary chunk (mode is 't')"],
    [
      'nesting without end',
      `return ${'('.repeat(5_000)}1${')'.repeat(5_000)}`,
      undefined,
      'C stack overflow',
    ],
  ];
  for (const [title, source, line, message] of faults)
    test(`Lua syntax refuses ${title}, with its line`, () =>
      assert.deepEqual(check(source), { line, message }));

  test('Lua syntax accepts what the machine runs: 5.4 syntax, any bytes in texts, a shebang and a byte order mark', () => {
    for (const source of [
      '',
      'local a <close> = nil; return 7 // 2, 1 << 3, "\\u{1F600}"',
      'return "\\xff\u0000"',
      '#!/usr/bin/lua\nreturn 1',
      '\ufeff#!/usr/bin/lua\nreturn 1',
      'return {...}',
    ])
      assert.equal(check(source), undefined, source);
  });

  test('Lua syntax keeps line numbers behind a shebang', () => {
    assert.equal(check('#!/usr/bin/lua\nx = = 1')?.line, 2);
  });

  test('one checker serves many files, faulty ones included, without growing', () => {
    const checker = createSyntaxChecker();
    const large = Buffer.from('local t = { 1, 2, "three", four = 4 }\n'.repeat(20_000));
    for (let round = 0; round < 50; round++) {
      assert.equal(checker.check(large)?.message.startsWith('too many local variables'), true);
      assert.equal(checker.check(Buffer.from('x = = 1'))?.line, 1);
      assert.equal(checker.check(Buffer.from('return 1')), undefined);
    }
  });

  test('Lua syntax survives any bytes', () => {
    const checker = createSyntaxChecker();
    assertProperty(
      property(uint8Array({ maxLength: 200 }), (bytes) => {
        const fault = checker.check(bytes);
        assert.ok(fault === undefined || typeof fault.message === 'string');
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('the machine is the examined version', () => {
    const file = createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm');
    assert.equal(
      createHash('sha256').update(readFileSync(file)).digest('hex'),
      '95f3f19ddb740125883bc41d5ec670cd0828e7b58c8bdad385323cbff497b55c',
    );
  });
});
