import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { camelMembers } from '../../../src/lib/members.ts';
import { shape } from '../../../src/platform/http/index.ts';

const doorShape = shape.named(
  'Door',
  v.object({
    id: v.string(),
    open_days: v.number(),
    locked: v.boolean(),
    is_glass: v.boolean(),
    made_at: shape.instant(),
    painted_at: v.nullable(shape.instant()),
    colour: shape.about(v.nullable(v.string()), 'Null: as it came.'),
    bell: v.optional(v.string()),
    delay_ms: v.optional(v.number()),
  }),
);

const DOOR = { id: 'a', openDays: 3, isLocked: false, isGlass: true, madeAtMs: 0, key: 'secret' };

describe('shape.filled', () => {
  test('shape.filled gives a record the names and forms of its shape, and nothing else of it', () => {
    const door = { ...DOOR, paintedAtMs: 1_000, colour: 'red', bell: 'ding', delayMs: 0 };
    assert.deepEqual(shape.filled(doorShape, door), {
      id: 'a',
      open_days: 3,
      locked: false,
      is_glass: true,
      made_at: '1970-01-01T00:00:00.000Z',
      painted_at: '1970-01-01T00:00:01.000Z',
      colour: 'red',
      bell: 'ding',
      delay_ms: 0,
    });
  });

  for (const nothing of [undefined, null])
    test(`shape.filled gives null for ${nothing} where the shape has null, and leaves out what is optional`, () => {
      const door = { ...DOOR, paintedAtMs: nothing, colour: nothing, bell: nothing, delayMs: nothing };
      assert.deepEqual(shape.filled(doorShape, door), {
        id: 'a',
        open_days: 3,
        locked: false,
        is_glass: true,
        made_at: '1970-01-01T00:00:00.000Z',
        painted_at: null,
        colour: null,
      });
    });
});

test('camelMembers gives what a request says the names inside', () => {
  assert.deepEqual(camelMembers({ on_change: true, bytes_per_second_max: 1, to: ['a_b'] }), {
    onChange: true,
    bytesPerSecondMax: 1,
    to: ['a_b'],
  });
});
