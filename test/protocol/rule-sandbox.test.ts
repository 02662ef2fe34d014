import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assert as holds, jsonValue, property } from 'fast-check';
import {
  decodeAnswer,
  decodeFromSandbox,
  decodeToSandbox,
  encodeSandboxMessage,
} from '../../src/protocol/rule-sandbox.ts';
import { exactJson, parseExactJson } from '../../src/lib/json.ts';
import type { JsonValue } from '../../src/protocol/telemetry.ts';

test('an answer is passed on unchanged, with its content as one text', () => {
  holds(
    property(jsonValue(), (value) => {
      const answer = {
        ok: true,
        result: [parseExactJson(exactJson(value)), 2n ** 60n + 1n, 'a\nb'] as JsonValue,
      };
      const order = decodeToSandbox(encodeSandboxMessage({ type: 'answer', id: 7, ...answer, ok: true }));
      assert.ok(order.type === 'answer');
      assert.deepEqual([order.id, order.content], [7, exactJson(answer)]);
      assert.deepEqual(decodeAnswer(order.content), answer);
    }),
  );
});

test('a reading beyond 2^53 has all digits of the stored number', () => {
  for (const value of [2 ** 60, 2n ** 60n]) {
    const answer = { ok: true, result: { value, timestampMs: 1 } } as const;
    const order = decodeToSandbox(encodeSandboxMessage({ type: 'answer', id: 7, ...answer }));
    assert.ok(order.type === 'answer');
    assert.deepEqual(decodeAnswer(order.content), { ok: true, result: { value: 2n ** 60n, timestampMs: 1 } });
  }
});

test('a question passed on as text equals one that was never parsed', () => {
  const head = { type: 'request', id: 3, ruleId: 'r', run: 4 } as const;
  const request = {
    method: 'execute',
    parameters: {
      deviceId: 'd',
      name: 'n',
      arguments: { text: 'a\nb', large: 2n ** 60n + 1n },
      timeoutMs: 1,
      ephemeral: false,
    },
  } as const;
  const passed = decodeFromSandbox(encodeSandboxMessage({ ...head, content: exactJson(request) }));
  assert.deepEqual(passed, { ...head, ...request });
  assert.deepEqual(decodeFromSandbox(encodeSandboxMessage({ ...head, ...request })), passed);
});

test('a value of no known type is refused', () => {
  for (const payload of ['{"type":"else"}\n{}', '7', '{}', 'null\n{"type":"answer"}'])
    assert.throws(() => decodeToSandbox(payload), /of no known type/);
  assert.throws(() => decodeFromSandbox(Buffer.from('{}')), /is text/);
});
