import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areSingle } from '../../src/telemetry-store/codec/decimal.ts';

test('numbers of 32 bits are finite: the endless sum of a roll-up keeps its form of 64', () => {
  assert.equal(areSingle(Float64Array.of(1, Math.fround(230.1)), 2), true);
  for (const sum of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 230.1])
    assert.equal(areSingle(Float64Array.of(1, sum), 2), false, String(sum));
});
