import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contradictions, LIMITS } from '../../src/lib/limits.ts';

function numbers(value: unknown, path: string): [path: string, value: unknown][] {
  if (typeof value !== 'object' || value === null) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) => numbers(member, `${path}.${name}`));
}

describe('the limits', () => {
  test('the limits do not contradict each other', () => assert.deepEqual(contradictions(LIMITS), []));

  test('the limits are positive whole numbers', () => {
    for (const [path, value] of numbers(LIMITS, 'LIMITS'))
      assert.ok(Number.isSafeInteger(value) && Number(value) > 0, `${path} is ${String(value)}`);
  });

  test('the limits are refused when a packet cannot hold the largest payload', () => {
    const limits = { ...LIMITS, mqtt: { ...LIMITS.mqtt, packetBytes: LIMITS.mqtt.payloadBytes } };
    assert.deepEqual(contradictions(limits), ['a packet holds payload and topic']);
  });
});
