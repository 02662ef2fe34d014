import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seriesOf } from '../../src/console/csv.ts';

const RANGE = { fromS: 1_005, toS: 1_045, stepS: 10 };
const head = (...names: string[]): string =>
  `ts,${names.map((name) => `telemetry=${name} device=x aggregation=auto`).join(',')}\n`;

describe('a time series for a chart', () => {
  test('has a hole where nothing came, though the answer leaves those rows out', () => {
    const { timesS, columns } = seriesOf(`${head('soc')}1000,50\n1030,51.5\n`, ['soc'], RANGE);
    assert.deepEqual(timesS, [1_000, 1_010, 1_020, 1_030, 1_040]);
    assert.deepEqual(columns, [[50, null, null, 51.5, null]]);
  });

  test('finds its columns by name, and has an empty one for what the gateway left out', () => {
    const text = `${head('b', 'a')}1010,1,true\n1020,,false\n`;
    const { columns } = seriesOf(text, ['a', 'gone', 'b'], RANGE);
    assert.deepEqual(columns, [
      [null, 1, 0, null, null],
      [null, null, null, null, null],
      [null, 1, null, null, null],
    ]);
  });

  test('draws no text as a number', () => {
    assert.deepEqual(seriesOf(`${head('a')}1010,idle\n`, ['a'], RANGE).columns, [
      [null, null, null, null, null],
    ]);
  });

  test('is empty for a header alone', () => {
    assert.deepEqual(seriesOf(head('a'), ['a'], { fromS: 0, toS: 20, stepS: 10 }).columns, [[null, null]]);
  });
});

describe('CSV', () => {});
