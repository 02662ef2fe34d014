/** What series amount to in each minute: integrals of rates, increases of counters. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { amountMinutes, Amounts, CELL } from '../../src/telemetry-store/query/amounts.ts';
import type { LiveSource, SampleSource } from '../../src/telemetry-store/query/column-cursor.ts';
import { rollUp } from '../../src/telemetry-store/codec/rollup.ts';
import { Samples } from '../../src/telemetry-store/codec/samples.ts';

type Points = readonly (readonly [timeS: number, value: number])[];

/** A store with the one series 1. */
function storeOf(points: Points): LiveSource {
  const samples = new Samples('number');
  for (const [timeS, value] of points) samples.push(timeS, value);
  const placed = (index: number) =>
    index < 0 || index >= samples.count
      ? undefined
      : { timestampS: samples.times[index] as number, value: samples.numbers[index] as number };
  const source: SampleSource = {
    last: (_id, fromS, toS) => {
      const found = placed(samples.indexFrom(toS) - 1);
      return found && found.timestampS >= fromS ? found : undefined;
    },
    first: (_id, fromS, toS) => {
      const found = placed(samples.indexFrom(fromS));
      return found && found.timestampS < toS ? found : undefined;
    },
    visit: (_id, fromS, toS, _granularityS, visitor) =>
      visitor.samples(samples, samples.indexFrom(fromS), samples.indexFrom(toS)),
    nextData: (_id, fromS, toS) => {
      const index = samples.indexFrom(fromS);
      return index < samples.count ? Math.min(toS, samples.times[index] as number) : toS;
    },
  };
  return { ...source, asOfNow: () => source };
}

type Row = [startS: number, above: number, below: number, coveredS: number];

function rowsOf(
  points: Points,
  more: Partial<{ kind: 'integral' | 'increase'; fromS: number; toS: number }> = {},
): Row[] {
  const { kind = 'integral', fromS = 0, toS = 600 } = more;
  const plan = {
    fromS,
    toS,
    gapS: 300,
    bridgeS: 3_600,
    amounts: [{ seriesId: 1, kind, rateMax: kind === 'integral' ? 1e6 : 1_000 }],
  };
  return [...amountMinutes(plan, storeOf(points))].flatMap((piece) =>
    (piece?.startsS ?? []).map(
      (startS, row): Row =>
        [
          startS,
          ...(piece?.cells.subarray(row * CELL.length, row * CELL.length + 3) ?? []),
        ] as unknown as Row,
    ),
  );
}

describe('amounts of a rate', () => {
  test('a rate connects values exactly one gap apart over the end of the range, as within it', () => {
    const wholeRange = rowsOf(
      [
        [300, 1_000],
        [600, 2_000],
        [900, 1_000],
      ],
      { toS: 900 },
    );
    assert.equal(wholeRange.length, 10);
    const cut = rowsOf(
      [
        [300, 1_000],
        [600, 2_000],
      ],
      { toS: 600 },
    );
    assert.deepEqual(cut, wholeRange.slice(0, 5));
  });

  test('the amount of a constant value is its product with time', () => {
    assert.deepEqual(
      rowsOf([
        [0, 1_000],
        [60, 1_000],
        [120, 1_000],
      ]),
      [
        [0, 60_000, 0, 60],
        [60, 60_000, 0, 60],
      ],
    );
  });

  test('a rate changes evenly between two values, and its amount is divided exactly where it crosses zero', () => {
    assert.deepEqual(
      rowsOf([
        [0, 100],
        [60, -300],
      ]),
      [[0, 750, 6_750, 60]],
    );
  });

  test('a gap that is too long is not bridged, and the covered seconds show it', () => {
    assert.deepEqual(
      rowsOf([
        [0, 10],
        [30, 10],
        [331, 10],
        [360, 10],
      ]),
      [
        [0, 300, 0, 30],
        [300, 290, 0, 29],
      ],
    );
  });

  test('samples before and after the range count into it', () => {
    assert.deepEqual(
      rowsOf(
        [
          [30, 60],
          [150, 60],
        ],
        { fromS: 60, toS: 120 },
      ),
      [[60, 3_600, 0, 60]],
    );
  });

  test('the parts of two days meet at midnight', () => {
    assert.deepEqual(
      rowsOf(
        [
          [86_370, 10],
          [86_430, 10],
        ],
        { fromS: 86_340, toS: 86_460 },
      ),
      [
        [86_340, 300, 0, 30],
        [86_400, 300, 0, 30],
      ],
    );
  });
});

describe('a value that nothing can have', () => {
  const nan = 2 ** 31;
  const cellsOf = (points: Points, rolledUp: boolean): number[] => {
    const store = storeOf(points);
    const samples = new Samples('number');
    for (const [timeS, value] of points) samples.push(timeS, value);
    const cells = rollUp(samples, 60);
    const visit: SampleSource['visit'] = (...given) =>
      rolledUp ? given[4].cells(cells, 0, cells.count, 60) : store.visit(...given);
    const source = { ...store, visit, last: () => undefined, first: () => undefined };
    const amounts = [{ seriesId: 1, kind: 'integral' as const, rateMax: 1e7 }];
    const plan = { fromS: 0, toS: 120, gapS: 300, bridgeS: 3_600, amounts };
    const pieces = [...amountMinutes(plan, { ...source, asOfNow: () => source })];
    return pieces.flatMap((piece) => [...(piece?.cells ?? [])]);
  };

  test('a value that nothing can have is left out and counted; the values around it are connected', () => {
    const points: Points = [
      [0, 60],
      [10, nan],
      [59, 60],
      [60, 60],
    ];
    assert.deepEqual(cellsOf(points, false), [3_600, 0, 60, 1]);
  });

  test('an impossible value makes its cell unknown, also where the mean of the cell looks plausible', () => {
    const points = Array.from({ length: 120 }, (_, timeS) => [timeS, timeS === 10 ? 5e7 : 60] as const);
    assert.deepEqual(cellsOf(points, true), [0, 0, 0, 1, 3_600, 0, 60, 0]);
  });
});

describe('amounts of a counter', () => {
  const kind = 'increase';

  test('the rise of a counter is spread evenly over the time between two readings, also over a long outage', () => {
    const rows = rowsOf(
      [
        [0, 1_000],
        [600, 1_050],
      ],
      { kind },
    );
    assert.equal(rows.length, 10);
    assert.ok(rows.every(([, above, , coveredS]) => above === 5 && coveredS === 60));
  });

  test('an outage of a counter from before midnight to after the range is counted on both sides of midnight', () => {
    const points: Points = [
      [86_340, 7],
      [86_700, 367],
    ];
    const rows = rowsOf(points, { kind, fromS: 86_280, toS: 86_520 });
    assert.deepEqual(rows, [
      [86_340, 60, 0, 60],
      [86_400, 60, 0, 60],
      [86_460, 60, 0, 60],
    ]);
  });

  test('a counter that restarts or overflows counts on from there; what was between two readings is unknown', () => {
    assert.deepEqual(
      rowsOf(
        [
          [0, 90],
          [60, 95],
          [120, 3],
          [180, 9],
        ],
        { kind },
      ),
      [
        [0, 5, 0, 60],
        [120, 6, 0, 60],
      ],
    );
  });

  test('a counter that was set to another number did not count that', () => {
    assert.deepEqual(
      rowsOf(
        [
          [0, 5],
          [60, 0],
          [120, 900_000],
          [180, 900_006],
        ],
        { kind },
      ),
      [[120, 6, 0, 60]],
    );
  });
});

test("a counter's amount is the same however the time is cut into ranges", () => {
  const stepS = fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 200 }) },
    { weight: 1, arbitrary: fc.integer({ min: 301, max: 3 * 86_400 }) },
  );
  const point = fc.tuple(stepS, fc.double({ min: -5_000, max: 5_000, noNaN: true }));
  fc.assert(
    fc.property(
      fc.array(point, { minLength: 2, maxLength: 40 }),
      fc.integer({ min: 1, max: 5_759 }),
      (steps, minute) => {
        let timeS = 84_000;
        const points = steps.map(([stepS, value]) => [(timeS += stepS), value] as const);
        const toS = 4 * 86_400;
        const sum = (rows: Row[]): number[] =>
          [1, 2, 3].map((place) => rows.reduce((all, row) => all + (row[place] ?? 0), 0));
        const whole = sum(rowsOf(points, { toS }));
        const cut = sum([
          ...rowsOf(points, { toS: minute * 60 }),
          ...rowsOf(points, { fromS: minute * 60, toS }),
        ]);
        const integral = points.slice(1).reduce((all, [atS, value], index) => {
          const [beforeS, before] = points[index] as (typeof points)[number];
          if (beforeS >= toS || atS - beforeS > 300) return all;
          const endS = Math.min(atS, toS);
          const end = before + ((value - before) * (endS - beforeS)) / (atS - beforeS);
          return all + ((before + end) / 2) * (endS - beforeS);
        }, 0);
        assert.ok(Math.abs((whole[0] ?? 0) - (whole[1] ?? 0) - integral) < 1e-3);
        for (const [place, value] of whole.entries())
          assert.ok(Math.abs(value - (cut[place] ?? Number.NaN)) < 1e-3);
      },
    ),
  );
});

test('a late sample for a minute whose samples are gone adds nothing to it', () => {
  const samples = new Samples('number');
  for (const timeS of [60, 90]) samples.push(timeS, 60);
  const full = new Samples('number');
  for (let timeS = 60; timeS < 180; timeS++) full.push(timeS, 60);
  const cells = rollUp(full, 60);
  const source: SampleSource = {
    last: () => undefined,
    first: () => undefined,
    visit: (_id, fromS, _toS, _granularityS, visitor) => {
      if (fromS < 60) return;
      visitor.cells(cells, 0, 1, 60);
      visitor.samples(samples, 0, samples.count);
      visitor.cells(cells, 1, 2, 60);
    },
    nextData: (_id, fromS) => fromS,
  };
  const rows = (kind: 'integral' | 'increase') => {
    const amounts = [{ seriesId: 1, kind, rateMax: kind === 'integral' ? 1e6 : 1_000 }];
    const plan = { fromS: 60, toS: 180, gapS: 300, bridgeS: 3_600, amounts };
    const pieces = [...amountMinutes(plan, { ...source, asOfNow: () => source })];
    return pieces.flatMap((piece) => [...(piece?.cells ?? [])]);
  };
  assert.deepEqual(rows('integral'), [3_600, 0, 60, 0, 3_600, 0, 60, 0]);
  assert.deepEqual(rows('increase'), [0, 0, 60, 0]);
});

test('minutes outside the range are ignored', () => {
  const amounts = new Amounts(60, 120);
  amounts.addSlope(0, 1, 600, 1);
  assert.deepEqual([...amounts.cells], [60, 0, 60, 0]);
});
