/** Cells of a day instead of its samples: what is read back is held to a plain list of the samples. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { DamagedBlockError } from '../../src/telemetry-store/codec/block-parts.ts';
import {
  decodeRollup,
  encodeRollup,
  lastOf,
  mergeRollups,
  type Rollup,
  rollUp,
} from '../../src/telemetry-store/codec/rollup.ts';
import { Samples } from '../../src/telemetry-store/codec/samples.ts';
import type { StoredValue } from '../../src/telemetry-store/codec/series.ts';
import { runs } from '../support/runs.ts';

const DAY_FROM_S = 1_772_323_200;
const SERIES = 7;
type Sample = readonly [timestampS: number, value: StoredValue];

function samplesOf(list: readonly Sample[]): Samples {
  const kind = { string: 'text', boolean: 'boolean', number: 'number', bigint: 'number' } as const;
  const samples = new Samples(kind[typeof (list[0] as Sample)[1] as keyof typeof kind]);
  for (const [timestampS, value] of list)
    if (typeof value === 'string' || typeof value === 'bigint') samples.pushOther(timestampS, value);
    else samples.push(timestampS, Number(value));
  return samples;
}

/** By start; undefined sums and bounds where a text has none. */
function summariesOf(rollup: Rollup) {
  const cells = Array.from({ length: rollup.count }, (_, cell) => cell);
  return new Map(cells.map((cell) => [rollup.starts[cell] as number, summaryOf(rollup, cell)]));
}

function summaryOf(rollup: Rollup, cell: number) {
  const { counts, sums, minima, maxima, exact } = rollup;
  return {
    count: counts[cell] as number,
    sum: sums[cell] as number,
    min: minima[cell] as number,
    max: maxima[cell] as number,
    last: lastOf(rollup, cell),
    minExact: exact?.minima[cell],
    maxExact: exact?.maxima[cell],
  };
}
type Summary = ReturnType<typeof summaryOf>;

const written = (list: readonly Sample[], slotS: number): Rollup =>
  decodeRollup(SERIES, encodeRollup(SERIES, rollUp(samplesOf(list), slotS)));

const slotOf = (timestampS: number, slotS: number): number => timestampS - (timestampS % slotS);

/** Strictly ascending seconds of one day. */
const list = <Value extends StoredValue>(value: fc.Arbitrary<Value>): fc.Arbitrary<[number, Value][]> =>
  fc
    .uniqueArray(fc.tuple(fc.integer({ min: 0, max: 86_399 }), value), {
      minLength: 1,
      maxLength: 200,
      selector: ([second]) => second,
    })
    .map((pairs) =>
      pairs.toSorted(([a], [b]) => a - b).map(([second, of]): [number, Value] => [DAY_FROM_S + second, of]),
    );
const slot = fc.constantFrom(60, 900);
/** A zero has no sign in a roll-up. */
const anyNumber = fc
  .double({ noNaN: true, noDefaultInfinity: true, min: -1e200, max: 1e200 })
  .map((value) => value + 0);
/** As meters show them. */
const short = fc.integer({ min: -10_000_000, max: 10_000_000 }).map((thousandths) => thousandths / 1_000);

/** Reads a list of samples as cells and as written cells, against the plain list. */
function check(
  sample: readonly Sample[],
  slotS: number,
  judge: (of: readonly Sample[], cell: Summary) => void,
) {
  const bySlot = Map.groupBy(sample, ([timestampS]) => slotOf(timestampS, slotS));
  const cells = summariesOf(written(sample, slotS));
  assert.deepEqual([...cells.keys()], [...bySlot.keys()]);
  for (const [start, of] of bySlot) {
    const cell = cells.get(start) as Summary;
    assert.equal(cell.count, of.length);
    assert.deepEqual(cell.last, (of.at(-1) as Sample)[1]);
    judge(of, cell);
  }
}

function judgeNumbers(of: readonly Sample[], { min, max }: Summary): void {
  const numbers = of.map(([, value]) => Number(value));
  assert.equal(min, Math.min(...numbers));
  assert.equal(max, Math.max(...numbers));
}

describe('a written roll-up that was damaged', () => {
  const bytes = encodeRollup(SERIES, rollUp(samplesOf([[DAY_FROM_S, 230.1]]), 60));

  test('a written roll-up that was damaged is refused at every byte, never read as something else', () => {
    for (let place = 0; place < bytes.length; place++) {
      const damaged = Buffer.from(bytes);
      damaged[place] = (damaged[place] as number) ^ 0x40;
      assert.throws(() => decodeRollup(SERIES, damaged), DamagedBlockError, `byte ${place}`);
    }
  });

  test('a written roll-up that was damaged is refused wherever it was cut, and for another series', () => {
    for (let length = 0; length < bytes.length; length++)
      assert.throws(() => decodeRollup(SERIES, bytes.subarray(0, length)), DamagedBlockError);
    assert.throws(() => decodeRollup(SERIES + 1, bytes), DamagedBlockError);
  });
});

describe('cells of a day, written and read', () => {
  test('cells of a day keep count, bounds and last value of any numbers to the bit', () => {
    fc.assert(
      fc.property(list(anyNumber), slot, (sample, slotS) => check(sample, slotS, judgeNumbers)),
      { numRuns: runs(60) },
    );
  });

  test('cells of a day keep the sum of any numbers, within the rounding of adding them in order', () => {
    fc.assert(
      fc.property(list(anyNumber), slot, (sample, slotS) =>
        check(sample, slotS, (of, cell) => {
          const added = of.reduce((sum, [, value]) => sum + Number(value), 0);
          assert.ok(Math.abs(cell.sum - added) <= Math.abs(added) * 1e-12, `${cell.sum} for ${added}`);
        }),
      ),
      { numRuns: runs(60) },
    );
  });

  test('cells of a day keep the exact sum of numbers of three decimals', () => {
    fc.assert(
      fc.property(list(short), slot, (sample, slotS) =>
        check(sample, slotS, (of, cell) => {
          const thousandths = of.reduce((sum, [, value]) => sum + Math.round(Number(value) * 1_000), 0);
          const added = of.reduce((sum, [, value]) => sum + Number(value), 0);
          // Where a sum nearly cancels, only the rounding of the additions is left.
          const isNear = Math.abs(thousandths / 1_000 - added) <= Math.abs(added) * 1e-12;
          assert.equal(cell.sum, isNear ? thousandths / 1_000 : added);
        }),
      ),
      { numRuns: runs(60) },
    );
  });

  test('cells of a day keep a sum as it is where three decimals would change it', () => {
    const sum = (value: number): number | undefined =>
      summariesOf(written([[DAY_FROM_S, value]], 60)).get(DAY_FROM_S)?.sum;
    for (const value of [0.1234, 1e-9, 1 / 3, -2.000_4]) assert.equal(sum(value), value);
    const tenths: Sample[] = Array.from({ length: 10 }, (_, second) => [DAY_FROM_S + second, 0.1]);
    assert.equal(summariesOf(written(tenths, 60)).get(DAY_FROM_S)?.sum, 1);
  });

  test('cells of a day keep the last texts and booleans', () => {
    fc.assert(
      fc.property(fc.oneof(list(fc.string()), list(fc.boolean())), slot, (sample, slotS) =>
        check(sample, slotS, () => undefined),
      ),
      { numRuns: runs(40) },
    );
    const { max, min, sum } = summariesOf(
      written(
        [
          [DAY_FROM_S, false],
          [DAY_FROM_S + 1, true],
          [DAY_FROM_S + 2, true],
        ],
        60,
      ),
    ).get(DAY_FROM_S) as Summary;
    assert.deepEqual({ max, min, sum }, { max: 1, min: 0, sum: 2 });
  });

  test('cells of a day keep integers beyond 2^53 exactly, bounds and last', () => {
    const big = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    fc.assert(
      fc.property(list(big), slot, (sample, slotS) => {
        const bySlot = Map.groupBy(sample, ([timestampS]) => slotOf(timestampS, slotS));
        const cells = summariesOf(written(sample, slotS));
        for (const [start, of] of bySlot) {
          const values = of.map(([, value]) => value).toSorted((a, b) => (a < b ? -1 : 1));
          const { minExact, maxExact, last } = cells.get(start) as Summary;
          assert.deepEqual([minExact, maxExact], [values[0], values.at(-1)]);
          assert.equal(BigInt(last), (of.at(-1) as Sample)[1]);
        }
      }),
      { numRuns: runs(60) },
    );
  });
});

describe('cells of the same day from two times', () => {
  const of = (...values: Sample[]): Rollup => rollUp(samplesOf(values), 60);
  const [first, second, third] = [DAY_FROM_S, DAY_FROM_S + 60, DAY_FROM_S + 120];

  test('cells of one day from two times are all there, in order, whichever came first', () => {
    const [early, late] = [of([first, 1], [third, 3]), of([second, 2])];
    for (const merged of [mergeRollups(early, late), mergeRollups(late, early)])
      assert.deepEqual(
        [...summariesOf(merged)].map(([start, { sum }]) => [start, sum]),
        [
          [first, 1],
          [second, 2],
          [third, 3],
        ],
      );
  });

  test('two cells of one minute are the fuller one, and of equally full ones the newer', () => {
    const [full, single] = [of([first, 1], [first + 1, 2]), of([first, 9])];
    const lastOf = (older: Rollup, newer: Rollup) => summariesOf(mergeRollups(older, newer)).get(first)?.last;
    assert.equal(lastOf(full, single), 2);
    assert.equal(lastOf(single, full), 2);
    assert.equal(lastOf(of([first, 5]), of([first, 6])), 6);
  });

  test('cells of one day from two times may come any number of times', () => {
    fc.assert(
      fc.property(list(short), slot, (sample, slotS) => {
        const cells = rollUp(samplesOf(sample), slotS);
        assert.deepEqual(summariesOf(mergeRollups(mergeRollups(cells, cells), cells)), summariesOf(cells));
      }),
      { numRuns: runs(30) },
    );
  });

  test('cells of one day from two times keep their texts, though each has its own list of texts', () => {
    const merged = mergeRollups(of([first, 'on'], [second, 'off']), of([third, 'fault'], [third + 60, 'on']));
    assert.deepEqual(
      [...summariesOf(merged).values()].map(({ last }) => last),
      ['on', 'off', 'fault', 'on'],
    );
  });

  test('cells of one day from two times are exact once one of them is', () => {
    const huge = 2n ** 60n + 1n;
    for (const merged of [
      mergeRollups(of([first, 5]), of([second, huge])),
      mergeRollups(of([second, huge]), of([first, 5])),
    ]) {
      const summaries = summariesOf(merged);
      assert.deepEqual(
        [summaries.get(first)?.minExact, summaries.get(first)?.maxExact, summaries.get(first)?.last],
        [5n, 5n, 5],
      );
      assert.deepEqual([summaries.get(second)?.maxExact, summaries.get(second)?.last], [huge, huge]);
    }
  });
});
