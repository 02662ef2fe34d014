import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { Aggregator, Points } from '../../src/telemetry-store/query/aggregate.ts';
import { decodeRollup, encodeRollup, rollUp } from '../../src/telemetry-store/codec/rollup.ts';
import { Samples } from '../../src/telemetry-store/codec/samples.ts';
import { runs } from '../support/runs.ts';

function samplesOf(values: readonly number[]): Samples {
  const samples = new Samples('number');
  for (const [index, value] of values.entries()) samples.push(index, value);
  return samples;
}

/** The mean of the samples, read as they are and as cells of a minute that were stored. */
function meansOf(values: readonly number[]): unknown[] {
  const samples = samplesOf(values);
  const cells = decodeRollup(1, encodeRollup(1, rollUp(samples, 60)));
  return (['samples', 'cells'] as const).map((form) => {
    const points = new Points(1);
    const aggregator = new Aggregator(86_400, 'avg', points);
    if (form === 'samples') aggregator.samples(samples, 0, samples.count);
    else aggregator.cells(cells, 0, cells.count);
    aggregator.finish();
    return points.at(0);
  });
}

const numbers = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0),
  fc.integer({ min: -100_000, max: 100_000 }).map((tenths) => tenths / 10),
);

describe('the mean', () => {
  test('the mean of equal samples equals them, in samples and in stored cells', () => {
    for (const value of [24.3, 0.1, 230.7, -0.3, 1e308])
      assert.deepEqual(meansOf(Array.from({ length: 1_000 }, () => value)), [value, value]);
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 500 }), (value, count) => {
        for (const mean of meansOf(Array.from({ length: count }, () => value))) assert.equal(mean, value);
      }),
      { numRuns: runs(500) },
    );
  });

  test('the mean is never below the least or above the greatest sample', () => {
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 200 }), (values) => {
        for (const mean of meansOf(values) as number[])
          assert.ok(mean >= Math.min(...values) && mean <= Math.max(...values), String(mean));
      }),
      { numRuns: runs(500) },
    );
  });
});
