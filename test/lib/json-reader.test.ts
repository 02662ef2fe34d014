import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { JsonExcess, JsonFault, PLAIN_JSON, readJson } from '../../src/lib/json-reader.ts';
import { runs } from '../support/runs.ts';

function faultOffset(text: string): number | undefined {
  try {
    readJson(text, PLAIN_JSON);
    return undefined;
  } catch (error) {
    assert.ok(error instanceof JsonFault);
    return error.offset;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

/** JSON, and JSON with something cut out of it or put into it. */
const damaged = fc
  .tuple(
    fc.json(),
    fc.nat(),
    fc.nat(3),
    fc.constantFrom('', ',', '"', '{', '}', '[', ']', ':', '\\', '0', '-', 't', ' ', '\u0001'),
  )
  .map(([text, at, cut, put]) => {
    const offset = at % (text.length + 1);
    return text.slice(0, offset) + put + text.slice(offset + cut);
  });

describe('the place where a text stops being JSON', () => {
  for (const [text, offset] of [
    ['', 0],
    [' ', 1],
    ['{', 1],
    ['{"a"', 4],
    ['{"a":1,}', 7],
    ['{a:1}', 1],
    ["{'a':1}", 1],
    ['[1,]', 3],
    ['[,]', 1],
    ['[1 2]', 3],
    ['{"a" 1}', 5],
    ['{"a":1]', 6],
    ['[1}', 2],
    ['{} x', 3],
    ['tru', 0],
    ['01', 0],
    ['-', 0],
    ['1.', 1],
    ['"a\nb"', 2],
    ['"\\x"', 0],
    ['"\\u00g0"', 0],
    ['"a', 2],
    ['NaN', 0],
    ['{"a":undefined}', 5],
  ] as const)
    test(`is ${offset} in ${JSON.stringify(text)}`, () => {
      assert.equal(faultOffset(text), offset);
      assert.equal(isJson(text), false);
    });

  test('exists exactly when Node refuses the text, and lies within it', () => {
    fc.assert(
      fc.property(fc.oneof(damaged, fc.json(), fc.string()), (text) => {
        const offset = faultOffset(text);
        assert.equal(offset === undefined, isJson(text), text);
        if (offset !== undefined) assert.ok(offset <= text.length);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test('is found in a text as large as a body may be', () => {
    const text = `{"a":"${'\\n'.repeat(200_000)}${'x'.repeat(600_000)}",}`;
    assert.equal(faultOffset(text), text.length - 1);
  });
});

describe('an object of plain values', () => {
  const reading = {
    limits: { keyLength: 4, depth: 2, values: 60 },
    exact: true,
    nonFinite: true,
    wellFormed: true,
  };
  const outcome = (text: string): unknown => {
    try {
      return readJson(text, reading);
    } catch (error) {
      assert.ok(error instanceof JsonFault || error instanceof JsonExcess);
      return error.constructor.name;
    }
  };
  const value = fc.oneof(
    fc.constantFrom(
      'NaN',
      '-Infinity',
      '-0',
      '1e400',
      '01',
      '9007199254740993',
      '-9007199254740993',
      '9007199254740991',
    ),
    fc.constantFrom(
      '9007199254740993.0',
      '9e15',
      '1e16',
      '"\\ud800"',
      '"a\\"b"',
      '{"b":{}}',
      '[[1]]',
      '[]',
      '"{["',
    ),
    fc.json({ maxDepth: 0 }),
  );
  const member = fc.tuple(fc.constantFrom('a', 'abcd', 'abcde', '__proto__', '7', 'a\\n'), value);

  test('is the same to whoever reads it quickly and to whoever looks at each character', () => {
    fc.assert(
      fc.property(fc.array(member, { maxLength: 5 }), fc.constantFrom('', ',', ' ', '}'), (members, rest) => {
        const text = `{${members.map(([key, of]) => `"${key}":${of}`).join()}${rest}}`;
        const slowly = outcome(` ${text}`);
        assert.deepEqual(outcome(text), slowly, text);
      }),
      { numRuns: runs(3_000) },
    );
  });
});
