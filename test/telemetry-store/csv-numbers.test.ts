/** Numbers of CSV are those of the language, digit for digit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { ByteWriter } from '../../src/telemetry-store/codec/byte-writer.ts';
import { writeNumber, writeWhole } from '../../src/telemetry-store/query/csv-numbers.ts';

function check(values: readonly number[]): void {
  const out = new ByteWriter(1);
  let decimals = 0;
  for (const value of values) {
    out.length = 0;
    decimals = writeNumber(out, value, decimals);
    assert.equal(out.take().toString(), Number.isFinite(value) ? String(value) : '');
  }
}

const DECIMAL = fc
  .tuple(fc.integer({ min: -(2 ** 40), max: 2 ** 40 }), fc.integer({ min: 0, max: 7 }))
  .map(([scaled, places]) => scaled / 10 ** places);
const AVERAGE = fc
  .tuple(fc.integer({ min: -(10 ** 6), max: 10 ** 6 }), fc.integer({ min: 1, max: 3_600 }))
  .map(([sum, count]) => sum / 10 / count);

test('a number is written as the language writes it, whatever came before', () => {
  fc.assert(
    fc.property(fc.array(fc.oneof(DECIMAL, AVERAGE, fc.double(), fc.integer())), (values) => check(values)),
  );
  const edges = [
    0,
    -0,
    0.5,
    -0.5,
    0.05,
    0.1 + 0.2,
    1e9,
    1e9 + 1,
    -1e9 - 0.1,
    99_999.9999,
    1e21,
    1e-7,
    2 ** 53,
  ];
  check([...edges, 0.0001, 0.00001, 123_456.789, Math.fround(230.1), 5e-324, Number.MAX_VALUE, Number.NaN]);
  check([
    1 / 3,
    Number.POSITIVE_INFINITY,
    7,
    1e6,
    1_000_000.5,
    2_147_483_648,
    -2_147_483_648.5,
    999_999_999.9,
  ]);
});

test('a moment is written as a whole number of up to 32 bits', () => {
  const written = (value: number): string => {
    const out = new ByteWriter(1);
    writeWhole(out, value);
    return out.take().toString();
  };
  fc.assert(
    fc.property(fc.nat({ max: 2 ** 32 - 1 }), (value) => assert.equal(written(value), String(value))),
  );
  for (const value of [0, 9, 10, 1e9, 1e9 + 1, 1_795_368_086, 2 ** 32 - 1, 2 ** 32])
    assert.equal(written(value), String(value));
});
