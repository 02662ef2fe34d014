/** The scale of small lines: noise stays flat, powers and shares stand on zero, like values are drawn alike. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type SmallLine, scalesOf } from '../../src/console/parts/sparkline-scale.ts';

const line = (
  name: string,
  unit: string,
  column: readonly (number | null)[],
  isInteger = false,
): SmallLine => ({
  name,
  unit,
  isInteger,
  column,
});

/** Height of the whole line in parts of its picture. */
function heightOf(one: SmallLine, lines: readonly SmallLine[] = [one]): number {
  const scale = scalesOf(lines).get(one.name);
  assert.ok(scale);
  const values = one.column.filter((value) => typeof value === 'number');
  return (Math.max(...values) - Math.min(...values)) / (scale.most - scale.least);
}

describe('the scale of a small line', () => {
  const flat: [title: string, one: SmallLine][] = [
    ['rounding noise of floating point', line('t', '°C', [24.3, 24.300000000000008, 24.3])],
    ['noise of the last digit shown', line('t', '°C', [24.3, 24.31, 24.3])],
    ['noise of the last digit of a voltage', line('u', 'V', [230.1, 230.2, 230.1])],
    ['a counter that grew by one', line('n', '', [1_000_000, 1_000_001], true)],
    ['a value that is zero but for noise', line('x', 'A', [0, 1e-12, 0])],
    ['a power that varies by 1 %', line('p', 'W', [5_200, 5_230, 5_190])],
    ['a charge that varies by 1 %', line('c', '%', [64, 65, 64])],
  ];
  for (const [title, one] of flat)
    test(`a small line is flat: ${title}`, () => assert.ok(heightOf(one) < 0.03, String(heightOf(one))));

  test('a real change fills the height of a small line', () => {
    assert.equal(heightOf(line('t', '°C', [18, 24, 21])), 1);
    assert.equal(heightOf(line('p', 'W', [0, 5_000, 0])), 1);
  });

  test('powers and percentages include zero in a small line, on either side of it', () => {
    for (const unit of ['W', 'kW', 'VA', 'var', '%'])
      for (const column of [
        [4_000, 5_000],
        [-4_000, -5_000],
      ]) {
        const scale = scalesOf([line('p', unit, column)]).get('p');
        assert.ok(scale && scale.least <= 0 && scale.most >= 0, unit);
      }
  });

  test('small lines of one unit share a scale, and those without a unit have their own', () => {
    const lines = [
      line('pv', 'W', [0, 5_000]),
      line('standby', 'W', [3, 4]),
      line('a', '', [1, 1_000]),
      line('b', '', [1, 9]),
    ];
    const scales = scalesOf(lines);
    assert.deepEqual(scales.get('pv'), scales.get('standby'));
    assert.notDeepEqual(scales.get('a'), scales.get('b'));
    assert.ok(heightOf(line('standby', 'W', [3, 4]), lines) < 0.01);
  });

  test('a small line without a number has no scale', () => {
    assert.equal(scalesOf([line('t', '°C', [null, null])]).size, 0);
  });
});
