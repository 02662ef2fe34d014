import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  assert as holds,
  boolean,
  constantFrom,
  jsonValue,
  nat,
  property,
  tuple,
  uint8Array,
} from 'fast-check';
import { parseJson } from '../../src/lib/json.ts';
import { decodeMessage } from '../../src/protocol/device-message.ts';
import { runs } from '../support/runs.ts';

const LIMITS = { keyLength: 9, depth: 3, values: 1_000 };
const SPACES = ['', '\n', ' \t'];
const decode = (payload: string | Buffer, options: { exact?: boolean; mayBeEmpty?: boolean } = {}) =>
  decodeMessage(Buffer.from(payload), LIMITS, { exact: false, mayBeEmpty: false, ...options });

describe('decodeMessage (docs/interface/mqtt-devices.md#messages)', () => {
  const rows: [payload: string | Buffer, problem: RegExp][] = [
    ['', /^A message is empty and was dropped\.$/],
    [' \n\0', /is empty/],
    ['{} {}', /is not JSON/],
    ['{"a":1', /is not JSON \(it ends too early/],
    ['{"a":1 "b":2}', /is not JSON \(an unexpected character at position 7\)/],
    ['nan', /is not JSON/],
    [`{"a":[${'1,'.repeat(998)}1]}`, /has more than 1000 values/],
    [`{"a":[${'{},'.repeat(998)}{}]}`, /has more than 1000 values/],
    ['[1]', /is not a JSON object/],
    ['true', /is not a JSON object/],
    [Buffer.from([0xc3, 0x28]), /is not JSON/],
    ['{"tenletters":1}', /has a key of more than 9 characters/],
    ['{"a":[{"tenletters":1}]}', /has a key of more than 9 characters/],
    ['{"a":[[[1]]]}', /has more than 3 levels/],
    [`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`, /levels|nested too deep/],
  ];
  for (const [payload, expected] of rows)
    for (const exact of [false, true])
      test(`decodeMessage refuses ${payload.toString().slice(0, 24)}, ${exact ? 'exact' : 'rounded'}`, () => {
        const { body, problem } = decode(payload, { exact });
        assert.equal(body, undefined);
        assert.match(problem ?? '', expected);
      });

  test('decodeMessage replaces half a surrogate pair as the disk does, in values and keys of every level', () => {
    const { body } = decode(
      String.raw`{"a":["\ud800"],"b":{"k\udfff":"x\ud83d"},"c":"\ud83d\ude00","d":"\\ud800"}`,
    );
    const shown = '{"a":["\ufffd"],"b":{"k\ufffd":"x\ufffd"},"c":"\u{1f600}","d":"\\\\ud800"}';
    assert.equal(JSON.stringify(body), shown);
  });

  test('decodeMessage takes what is just within the limits', () => {
    assert.equal(decode(`{"a":[${'1,'.repeat(997)}1]}`).problem, undefined);
    assert.equal(decode('{"ninechars":1}').problem, undefined);
    assert.equal(decode('{"a":[[1]]}').problem, undefined);
  });

  test('decodeMessage takes an empty payload as an empty object where that is meant', () => {
    assert.deepEqual(Object.entries(decode('', { mayBeEmpty: true }).body ?? { a: 1 }), []);
  });

  test('decodeMessage keeps integers beyond 2^53 when exact', () => {
    const text = '{"a":9007199254740993,"b":1.5,"c":3}';
    assert.deepEqual({ ...decode(text, { exact: true }).body }, { a: 9_007_199_254_740_993n, b: 1.5, c: 3 });
    assert.deepEqual({ ...decode(text).body }, { a: 9_007_199_254_740_992, b: 1.5, c: 3 });
  });

  test('decodeMessage leaves out what encoders write for numbers that are not finite, and names it', () => {
    const { body, leftOut } = decode('{"a":NaN,"b":[inf,1,-inf],"c":{"d":-nan(ind),"e":2}}');
    assert.deepEqual({ ...body }, { b: [null, 1, null], c: { e: 2 } });
    assert.deepEqual(leftOut, ['a', 'b', 'b', 'c.d']);
  });

  test('decodeMessage keeps the limits for what it repairs', () => {
    assert.match(decode('{"a":[[[nan]]]}').problem ?? '', /has more than 3 levels/);
    assert.match(decode(`{"a":[${'nan,'.repeat(999)}]}`).problem ?? '', /has more than 1000 values/);
  });

  test('decodeMessage replaces bytes that are no UTF-8 in the text they are in', () => {
    const latin1 = Buffer.from('{"a":"21 °C","b":2}', 'latin1');
    assert.deepEqual({ ...decode(latin1).body }, { a: '21 \ufffdC', b: 2 });
  });

  test('decodeMessage (docs/interface/mqtt-devices.md#messages) has no prototype to inherit from', () => {
    const { body } = decode('{"__proto__":{"a":1},"toString":2}');
    assert.equal(Object.getPrototypeOf(body), null);
    assert.deepEqual(Object.keys(body ?? {}), ['__proto__', 'toString']);
  });

  test('decodeMessage returns a body or a problem for any bytes, and never throws', () => {
    holds(
      property(uint8Array({ maxLength: 64 }), (bytes) => {
        const { body, problem } = decode(Buffer.from(bytes), { exact: true });
        assert.equal((body === undefined) !== (problem === undefined), true);
      }),
    );
  });

  test('decodeMessage agrees with JSON.parse about every text', () => {
    const texts = jsonValue().chain((value) =>
      tuple(
        constantFrom(...SPACES).map((space) => JSON.stringify({ a: value }, undefined, space)),
        nat(),
        nat(0x7f),
      ),
    );
    holds(
      property(texts, boolean(), ([text, place, code], isBent) => {
        const at = place % text.length;
        const given = isBent ? text.slice(0, at) + String.fromCharCode(code) + text.slice(at + 1) : text;
        let expected: unknown;
        try {
          expected = JSON.parse(given);
        } catch {
          assert.throws(() => parseJson(given), SyntaxError);
          return;
        }
        assert.deepEqual(parseJson(given), expected);
      }),
      { numRuns: runs(2_000) },
    );
  });

  test('decodeMessage reads back any JSON object within the limits', () => {
    holds(
      property(jsonValue({ maxDepth: 1 }), (value) => {
        const text = JSON.stringify({ a: value });
        const { body, problem } = decode(text);
        if (problem === undefined) assert.deepEqual({ ...body }, JSON.parse(text));
        else assert.match(problem, /key/);
      }),
    );
  });
});
