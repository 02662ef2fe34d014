import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { issueText, shape } from '../../../src/platform/http/index.ts';

function textOf(schema: v.GenericSchema, value: unknown): string {
  const { issues } = v.safeParse(schema, value);
  assert.ok(issues, 'the value passes');
  return issueText(issues[0]);
}

test('each fault is described in the words of the interface', () => {
  const rows: [v.GenericSchema, unknown, string][] = [
    [v.string(), undefined, 'is required'],
    [v.string(), 5, 'must be a text, got 5'],
    [v.string(), null, 'must be a text, got null'],
    [v.number(), 'x', 'must be a number, got "x"'],
    [v.boolean(), 'yes', 'must be true or false, got "yes"'],
    [v.array(v.string()), {}, 'must be a list, got an object'],
    [v.object({}), 'x', 'must be an object, got "x"'],
    [v.nullish(v.string()), 5, 'must be a text, got 5'],
    [v.picklist(['A', 'B']), 'C', 'must be one of: A, B, got "C"'],
    [v.literal('A'), 'B', 'must be "A", got "B"'],
    [v.union([v.string(), v.number()]), true, 'must be a text or a number, got true'],
    [shape.id(), 'x', 'must be a UUID, got "x"'],
    [shape.whole(1, 5), 1.5, 'must be a whole number, got 1.5'],
    [shape.whole(1, 5), 6, 'must be at most 5, got 6'],
    [shape.whole(1, 5), 0, 'must be at least 1, got 0'],
    [shape.text(3), '', 'must have at least 1 characters'],
    [shape.text(3), 'four', 'must have at most 3 characters'],
    [v.pipe(v.array(v.number()), v.maxLength(1)), [1, 2], 'must have at most 1 items'],
    [
      v.pipe(
        v.string(),
        v.check(() => false, 'must be one line'),
      ),
      'x',
      'must be one line',
    ],
  ];
  for (const [schema, value, text] of rows) assert.equal(textOf(schema, value), text);
});

test('a long value is not repeated as a whole', () => {
  assert.ok(textOf(v.number(), 'x'.repeat(1_000)).length < 150);
});
