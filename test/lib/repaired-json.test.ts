import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { repairedJson } from '../../src/lib/repaired-json.ts';
import { runs } from '../support/runs.ts';

/** What is read, and the names of what was left out. */
type Row = [title: string, text: string, value: unknown, leftOut?: string[]];

/** Words that encoders write in place of a number. */
const NOT_FINITE = [
  'nan',
  'NaN',
  'NAN',
  '-nan',
  '+nan',
  '-nan(ind)',
  'nan(0x8000000000000)',
  'inf',
  '-inf',
  '+Inf',
  'INF',
  'infinity',
  '-Infinity',
  '1.#QNAN',
  '-1.#IND',
  '1.#INF00',
  'ovf',
  '1e999',
];

const ROWS: Row[] = [
  ...NOT_FINITE.map((word): Row => [word, `{"a":${word},"b":2}`, { b: 2 }, ['a']]),
  ['no value at all', '{"a":,"b":2}', { b: 2 }, ['a']],
  ['dashes for a value', '{"a":--,"b":2}', { b: 2 }, ['a']],
  ['a word', '{"a": not available ,"b":2}', { b: 2 }, ['a']],
  ['two points in a number', '{"a":1.2.3,"b":2}', { b: 2 }, ['a']],
  ['a hexadecimal number', '{"a":0x1F,"b":2}', { b: 2 }, ['a']],
  ['a comma within a number', '{"a":21,5,"b":2}', { b: 2 }, ['a']],
  ['a comma within the last number', '{"b":2,"a":21,5}', { b: 2 }, ['a']],
  [
    'a bad value deep within',
    '{"ENERGY":{"Power":nan,"Voltage":230}}',
    { ENERGY: { Voltage: 230 } },
    ['ENERGY.Power'],
  ],
  ['a bad item of a list', '{"a":[1,nan,3]}', { a: [1, null, 3] }, ['a']],
  ['a bad value after a good one of that name', '{"a":1,"a":nan}', {}, ['a']],
  ['a comma behind the last member', '{"a":1,"b":2,}', { a: 1, b: 2 }],
  ['a comma before the first member', '{,"a":1}', { a: 1 }],
  ['two commas', '{"a":1,,"b":2}', { a: 1, b: 2 }],
  ['a comma behind the last item', '{"a":[1,2,]}', { a: [1, 2] }],
  ['a plus sign', '{"a":+5,"b":+1.5e+3}', { a: 5, b: 1500 }],
  ['leading zeros', '{"a":007,"b":-01.50,"c":000}', { a: 7, b: -1.5, c: 0 }],
  ['a number that begins or ends with its point', '{"a":.5,"b":-.5,"c":5.}', { a: 0.5, b: -0.5, c: 5 }],
  ['words of Python', "{'a': True, 'b': False, 'c': None}", { a: true, b: false, c: null }],
  ['a quotation mark within single ones', `{'a': 'say "no"'}`, { a: 'say "no"' }],
  ['a byte order mark', '\ufeff{"a":1}', { a: 1 }],
  ['the bytes of a byte order mark', '\u00ef\u00bb\u00bf{"a":1}', { a: 1 }],
  ['NUL at the end', '{"a":1}\0', { a: 1 }],
  ['remains of a buffer behind NUL', '{"a":1}\0"b":17}', { a: 1 }],
  ['new lines around it', '\r\n{"a":1}\n', { a: 1 }],
  ['control characters in a text', '{"a":"one\ntwo\tthree\u0001"}', { a: 'one\ntwo\tthree\u0001' }],
  [
    'a backslash before a character without an escape',
    String.raw`{"a":"C:\dir \'x\'"}`,
    { a: "C:\\dir 'x'" },
  ],
  ['half an escape', String.raw`{"a":"\u12"}`, { a: '\\u12' }],
  ['equal names', '{"a":1,"a":2,}', { a: 2 }],
  ['names without quotes', '{temp_1: 21.5, $b:{c:nan}}', { temp_1: 21.5, $b: {} }, ['$b.c']],
  ['a list', '[1,2,]', [1, 2]],
];

describe('repairedJson', () => {
  for (const [title, text, value, leftOut = []] of ROWS)
    test(`repairedJson reads a text with ${title}`, () => {
      const repaired = repairedJson(text);
      assert.ok(repaired);
      assert.deepEqual([JSON.parse(repaired.text), repaired.leftOut], [value, leftOut]);
    });

  for (const [title, text] of [
    ['that ends too early', '{"a":1,"b":2'],
    ['cut within a text', '{"a":"x'],
    ['cut within a name', '{"a":1,"b'],
    ['without a comma between members', '{"a":1 "b":2}'],
    ['without a colon', '{"a" 1}'],
    ['with something behind it', '{"a":1}}'],
    ['with two messages', '{"a":1}{"a":2}'],
    ['with a number for a name', '{1:1}'],
    ['with a name of two words', '{a b:1}'],
    ['with a value in front of a text', '{"a":x"b"}'],
    ['with nothing but a word', 'nan'],
    ['with nothing', ''],
    ['nested too deep', `${'['.repeat(100)}nan${']'.repeat(100)}`],
    ['with an object for a name', '{{}:1}'],
  ] as const)
    test(`repairedJson gives up a text ${title}`, () => assert.equal(repairedJson(text), undefined));

  test('repairedJson keeps the meaning of every JSON text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value);
        const repaired = repairedJson(text);
        assert.deepEqual(repaired && JSON.parse(repaired.text), JSON.parse(text));
        assert.deepEqual(repaired?.leftOut, []);
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('repairedJson makes JSON of any text, or nothing', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      ',',
      ':',
      '\\',
      "'",
      '"a"',
      'nan',
      '1',
      '01',
      '\n',
      '\0',
      'u00',
      ' ',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const repaired = repairedJson(pieces.join(''));
        if (repaired) JSON.parse(repaired.text);
      }),
      { numRuns: runs(5_000) },
    );
  });

  test('repairedJson names at most a hundred values', () => {
    assert.equal(repairedJson(`{"a":[${'nan,'.repeat(1_000)}]}`)?.leftOut.length, 100);
  });
});
