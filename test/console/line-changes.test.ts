import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineChanges } from '../../src/console/rules/line-changes.ts';

const shown = (first: string, second: string): string[] =>
  lineChanges(first, second).map(({ sign, line }) => sign + line);

test('equal texts have no differences', () => assert.deepEqual(shown('a\nb', 'a\nb'), []));

test('a changed line stands twice, with three lines around it', () => {
  const lines = Array.from({ length: 20 }, (_, index) => String(index));
  const changed = lines.with(10, 'ten');
  assert.deepEqual(shown(lines.join('\n'), changed.join('\n')), [
    ' 7',
    ' 8',
    ' 9',
    '-10',
    '+ten',
    ' 11',
    ' 12',
    ' 13',
    ' …',
  ]);
});

test('unchanged lines between added and removed ones stay', () => {
  assert.deepEqual(shown('a\nb\nc\nd', 'b\nc\nx\nd\ne'), ['-a', ' b', ' c', '+x', ' d', '+e']);
});

test('very different texts are shown one after the other', () => {
  const many = (name: string): string => Array.from({ length: 1_500 }, (_, i) => name + i).join('\n');
  const changes = shown(many('a'), many('b'));
  assert.deepEqual([changes.length, changes[0], changes[1_500]], [3_000, '-a0', '+b0']);
});
