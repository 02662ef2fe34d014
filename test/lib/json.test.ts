import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  exactJson,
  JsonExcess,
  JsonFault,
  parseExactJson,
  parseJson,
  parseWritableJson,
  unstorableNumberOf,
} from '../../src/lib/json.ts';
import { runs } from '../support/runs.ts';

function faultOffset(text: string): number | undefined {
  try {
    parseJson(text);
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
    test(`the place where a text stops being JSON is ${offset} in ${JSON.stringify(text)}`, () => {
      assert.equal(faultOffset(text), offset);
      assert.equal(isJson(text), false);
    });

  test('the place where a text stops being JSON exists exactly when Node refuses the text, and lies within it', () => {
    fc.assert(
      fc.property(fc.oneof(damaged, fc.json(), fc.string()), (text) => {
        const offset = faultOffset(text);
        assert.equal(offset === undefined, isJson(text), text);
        if (offset !== undefined) assert.ok(offset <= text.length);
      }),
      { numRuns: runs(3_000) },
    );
  });

  test('the place where a text stops being JSON is found in a text as large as a body may be', () => {
    const text = `{"a":"${'\\n'.repeat(200_000)}${'x'.repeat(600_000)}",}`;
    assert.equal(faultOffset(text), text.length - 1);
  });
});

describe('numbers of JSON', () => {
  test('numbers of JSON come as bigint exactly when they are integer literals beyond 2^53 and exactness is asked for', () => {
    const text =
      '[9007199254740993,-9007199254740993,9007199254740993.0,1e16,9007199254740991,"9007199254740993"]';
    assert.deepEqual(parseExactJson(text), [
      9_007_199_254_740_993n,
      -9_007_199_254_740_993n,
      9_007_199_254_740_992,
      1e16,
      9_007_199_254_740_991,
      '9007199254740993',
    ]);
  });

  test('numbers of JSON have the same digits after being parsed and written', () => {
    fc.assert(
      fc.property(fc.array(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })), (integers) => {
        const text = `{"a":[${integers.join(',')}]}`;
        assert.equal(exactJson(parseExactJson(text)), text);
        assert.equal(JSON.stringify(parseWritableJson(text)), text);
      }),
      { numRuns: runs(500) },
    );
  });

  test('numbers of JSON are written with an exponent when only a float holds them, so that they are read as floats', () => {
    assert.equal(
      exactJson([2 ** 63, 1e20, -(2 ** 63)]),
      '[9.223372036854776e+18,1e+20,-9223372036854775808]',
    );
  });

  for (const [number, isInteger] of [
    ['9223372036854775808', true],
    ['-9223372036854775809', true],
    ['1'.repeat(300), true],
    ['1'.repeat(400), false],
    ['1e400', false],
    ['-1E+400', false],
  ] as const)
    test(`numbers of JSON cannot be stored when neither 64 bits nor a float hold them: ${number.slice(0, 24)}, ${number.length} long`, () => {
      assert.deepEqual(unstorableNumberOf(`{"a":[1,{"b":${number}}]}`), { path: 'a.1.b', isInteger });
    });

  for (const number of [
    '9223372036854775807',
    '-9223372036854775808',
    '9223372036854775808.0',
    '1e308',
    '1e-400',
  ])
    test(`numbers of JSON can be stored up to the limits of both: ${number}`, () => {
      assert.equal(unstorableNumberOf(`{"a":${number},"b":"1e400"}`), undefined);
    });
});

describe('limits of JSON', () => {
  const limits = { keyLength: 3, depth: 2, values: 5 };
  for (const [text, message] of [
    ['{"abcd":1}', /key of more than 3/],
    ['[[[]]]', /more than 2 levels/],
    ['[1,2,3,4,5]', /more than 5 values/],
    [`${'['.repeat(500_000)}${']'.repeat(500_000)}`, /levels/],
  ] as const)
    test(`limits of JSON refuse ${text.slice(0, 20)}`, () => {
      assert.throws(
        () => parseExactJson(text, limits),
        (error) => error instanceof JsonExcess && message.test(error.message),
      );
    });

  test('limits of JSON refuse nesting too deep to be revived, where no other limit is given', () => {
    const text = `${'['.repeat(500_000)}9007199254740993${']'.repeat(500_000)}`;
    assert.throws(() => parseExactJson(text), JsonExcess);
  });
});

test('half a surrogate pair becomes U+FFFD when it is written as an escape, and nothing else does', () => {
  const text = String.raw`{"a":"\ud800","b":"\ud83d\ude00","c":"\\ud800","\udfff":"\ude00\ud83d"}`;
  assert.deepEqual(parseWritableJson(text), {
    a: '\ufffd',
    b: '\u{1f600}',
    c: '\\ud800',
    '\ufffd': '\ufffd\ufffd',
  });
});

test('the fault of a long text is found in time proportional to its length', () => {
  for (const part of ['"', '\\"', '"\\', '-', '1.', '[{"a":', '[', '{"a":1},'])
    assert.throws(() => parseJson(part.repeat(300_000)), JsonFault, part);
});
