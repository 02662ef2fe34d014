import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as holds, dictionary, jsonValue, property, string } from 'fast-check';
import { decodeCommandResponse } from '../../src/protocol/command.ts';

const LIMIT_BYTES = 65_536;
const decode = (body: Record<string, unknown>, limitBytes = LIMIT_BYTES) =>
  decodeCommandResponse(body, limitBytes);

describe('decodeCommandResponse (docs/interface/mqtt-devices.md#commands)', () => {
  for (const body of [
    {},
    { id: 'a' },
    { state: 'completed' },
    { id: 7, state: 'completed' },
    { id: 'a', state: 1 },
  ])
    test(`decodeCommandResponse refuses ${JSON.stringify(body)}`, () =>
      assert.equal(decode(body), undefined));

  const states: [word: string, state: string][] = [
    ['started', 'STARTED'],
    ['log', 'IN_PROGRESS'],
    ['in_progress', 'IN_PROGRESS'],
    ['completed', 'SUCCEEDED'],
    ['success', 'SUCCEEDED'],
    ['succeeded', 'SUCCEEDED'],
    ['error', 'ERROR'],
  ];
  for (const [word, state] of states)
    test(`decodeCommandResponse reads "${word}" in any case as ${state}`, () => {
      assert.equal(decode({ id: 'a', state: word })?.state, state);
      assert.equal(decode({ id: 'a', state: word.toUpperCase() })?.state, state);
    });

  test('decodeCommandResponse takes any other word for progress and keeps it in the payload', () => {
    const response = decode({ id: 'a', state: 'Warming', payload: { step: 2, state: 'x' } });
    assert.equal(response?.state, 'IN_PROGRESS');
    assert.deepEqual(response?.payload, { step: 2, state: 'Warming' });
  });

  const payloads: [given: unknown, read: Record<string, unknown>][] = [
    [undefined, {}],
    [null, {}],
    [{ result: null }, { result: null }],
    ['done', { message: 'done' }],
    [5, { message: '5' }],
    [false, { message: 'false' }],
    [[1, 'a'], { message: '[1,"a"]' }],
  ];
  for (const [payload, read] of payloads)
    test(`decodeCommandResponse makes an object of the payload ${JSON.stringify(payload) ?? 'absent'}`, () => {
      const response = decode({ id: 'a', state: 'completed', payload });
      assert.deepEqual(response?.payload, read);
      assert.deepEqual(JSON.parse(response?.payloadText ?? ''), read);
    });

  test('decodeCommandResponse keeps whole numbers beyond 2^53 with all their digits', () => {
    const large = 2n ** 63n - 1n;
    const { payload, payloadText } =
      decode({ id: 'a', state: 'completed', payload: { result: large, list: [-large] } }) ?? assert.fail();
    assert.equal(payloadText, '{"result":9223372036854775807,"list":[-9223372036854775807]}');
    assert.equal(JSON.stringify(payload), payloadText);
    for (const given of [large, { reason: large }])
      assert.equal(decode({ id: 'a', state: 'error', payload: given })?.payload.message, String(large));
  });

  test('decodeCommandResponse shows numbers that JSON would change silently as texts', () => {
    const payload = { a: Infinity, list: [2n ** 63n, 1], b: 2.5 };
    const response = decode({ id: 'a', state: 'completed', payload });
    assert.equal(response?.payloadText, '{"a":"Infinity","list":["9223372036854775808",1],"b":2.5}');
  });

  const errors: [given: unknown, message: string][] = [
    [{ message: 'broken' }, 'broken'],
    [{ message: 7 }, '7'],
    [{ reason: 'no power', error: 'x' }, 'no power'],
    [{ error: 'E1', traceback: 'x' }, 'E1'],
    [{ traceback: 'line 3' }, 'line 3'],
    [{ message: null, reason: { code: 1 } }, '{"code":1}'],
    [{}, 'The device reported an error without a message.'],
    ['bad', 'bad'],
  ];
  for (const [payload, message] of errors)
    test(`decodeCommandResponse finds the message of the error ${JSON.stringify(payload)}`, () => {
      const response = decode({ id: 'a', state: 'error', payload });
      assert.equal(response?.payload.message, message);
      if (typeof payload === 'object') assert.deepEqual(response?.payload, { ...payload, message });
    });

  test('decodeCommandResponse leaves out a payload over the limit but keeps state and message', () => {
    const response = decode(
      { id: 'a', state: 'error', payload: { message: 'why', blob: 'x'.repeat(200) } },
      100,
    );
    assert.equal(response?.state, 'ERROR');
    assert.deepEqual(response?.payload, {
      message: 'why (The payload of 227 bytes was too large and was left out.)',
    });
    const silent = decode({ id: 'a', state: 'completed', payload: { blob: 'x'.repeat(200) } }, 100);
    assert.deepEqual(silent?.payload, {
      message: '(The payload of 211 bytes was too large and was left out.)',
    });
  });

  test('decodeCommandResponse keeps a payload of exactly the limit', () => {
    const payload = { blob: 'x'.repeat(89) };
    assert.equal(JSON.stringify(payload).length, 100);
    assert.deepEqual(decode({ id: 'a', state: 'completed', payload }, 100)?.payload, payload);
  });

  test('decodeCommandResponse takes __proto__ for a plain name', () => {
    const payload = JSON.parse('{"__proto__": {"polluted": true}}') as unknown;
    const response = decode({ id: 'a', state: 'error', payload });
    assert.ok(response?.payloadText.includes('"__proto__":{"polluted":true}'));
    assert.equal(({} as { polluted?: boolean }).polluted, undefined);
  });

  test('decodeCommandResponse returns an object, and a text for a failure, whatever arrives', () => {
    holds(
      property(string(), jsonValue(), dictionary(string(), jsonValue()), (state, payload, rest) => {
        for (const word of [state, 'error']) {
          const response = decode({ ...rest, id: 'a', state: word, payload });
          assert.ok(response);
          assert.ok(response.payload !== null && typeof response.payload === 'object');
          assert.ok(!Array.isArray(response.payload));
          if (response.state === 'ERROR') assert.equal(typeof response.payload.message, 'string');
        }
      }),
    );
  });
});
