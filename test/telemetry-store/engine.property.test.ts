import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  asyncProperty,
  assert as assertProperty,
  type Arbitrary,
  array,
  bigInt,
  boolean,
  constantFrom,
  double,
  integer,
  nat,
  oneof,
  record,
  string,
  tuple,
} from 'fast-check';
import type { TelemetryType } from '../../src/protocol/telemetry.ts';
import {
  type ColumnWish,
  modelRows,
  startEngine,
  type TestEngine,
  type TestSeries,
} from './engine-support.ts';
import type { StoredValue } from '../../src/telemetry-store/codec/series.ts';
import { runs } from '../support/runs.ts';

const DAY_S = 86_400;
/** Three days before the clock of the tests, so that days are open, closing and closed. */
const BASE_S = Date.UTC(2026, 1, 26) / 1_000;
const SPAN_S = 4 * DAY_S;

const values: Record<string, Arbitrary<StoredValue>> = {
  float: oneof(
    integer({ min: -5_000, max: 5_000 }).map((value) => value / 10),
    // As a device with 32-bit numbers sends them.
    integer({ min: -9_999, max: 9_999 }).map((value) => Math.fround(value / 10)),
    double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
    constantFrom(0, 23.1, 1e15, 1e-9, Number.MAX_VALUE, 0.1 + 0.2),
  ),
  integer: oneof(
    { weight: 9, arbitrary: integer({ min: -100, max: 100 }) },
    bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) =>
      Number.isSafeInteger(Number(value)) ? Number(value) : value,
    ),
  ),
  boolean: boolean(),
  string: oneof(constantFrom('auto', 'manual', ''), string({ maxLength: 8 })),
};

/** Mostly steady steps, sometimes late, early or the same second again. */
const stretch = record({
  startS: oneof(
    nat(SPAN_S),
    nat(200).map((index) => 2 * DAY_S - 100 + index),
  ),
  steps: oneof(
    array(oneof({ weight: 8, arbitrary: constantFrom(1, 1, 1, 60) }, integer({ min: -30, max: 3_600 })), {
      maxLength: 60,
    }),
    // So dense that its part has minute cells.
    array(constantFrom(1, 1, 1, 2), { minLength: 60, maxLength: 150 }),
  ),
});

type Action = (engine: TestEngine) => Promise<void>;

function writing(types: readonly TelemetryType[]): Arbitrary<Action> {
  return tuple(nat(types.length - 1), stretch).chain(([which, { startS, steps }]) =>
    array(values[types[which] ?? 'float'] as Arbitrary<StoredValue>, {
      minLength: steps.length + 1,
      maxLength: steps.length + 1,
    }).map((given): Action => async (engine) => {
      let at = BASE_S + startS;
      const series = engine.series[which] as TestSeries;
      engine.write(
        given.map((value, index) => {
          at += index === 0 ? 0 : (steps[index - 1] ?? 0);
          return [series, at, value];
        }),
      );
    }),
  );
}

const maintenance: Arbitrary<Action> = oneof(
  constantFrom<Action>(
    (engine) => engine.engine.seal(),
    async (engine) => {
      await engine.clock.advance(3_600_000);
      await engine.engine.maintain();
    },
    async (engine) => engine.restart(),
  ),
  nat(12).map(
    (pauses): Action =>
      (engine) =>
        engine.killed(pauses, () => engine.engine.seal()),
  ),
  nat(12).map(
    (pauses): Action =>
      (engine) =>
        engine.killed(pauses, async () => {
          await engine.clock.advance(3_600_000);
          await engine.engine.maintain();
        }),
  ),
);

const TYPES: readonly TelemetryType[] = ['float', 'integer', 'boolean', 'string'];

const wish = record({
  which: nat(TYPES.length - 1),
  aggregation: constantFrom<ColumnWish['aggregation'][]>('last', 'avg', 'min', 'max', 'bool_or'),
  gapMethod: constantFrom<('none' | 'locf' | 'interpolation')[]>('none', 'none', 'locf', 'interpolation'),
  lookAroundS: constantFrom(0, 30, 600, DAY_S, 3 * DAY_S),
}).map(({ which, aggregation, ...rest }) => {
  const type = TYPES[which];
  const isNumber = type === 'float' || type === 'integer';
  const fits = aggregation === 'last' || (aggregation === 'bool_or' ? type === 'boolean' : isNumber);
  return { which, aggregation: fits ? aggregation : ('last' as const), ...rest };
});

const question = record({
  fromS: oneof(
    nat(SPAN_S),
    nat(16).map((quarter) => quarter * 21_600),
  ),
  lengthS: constantFrom(1, 600, 3_600, DAY_S, 3 * DAY_S),
  granularityS: constantFrom(1, 7, 60, 300, 900, 1_800, 3_600, 5_400, DAY_S, 7 * DAY_S),
  wishes: array(wish, { minLength: 1, maxLength: 3 }),
});

function check(engine: TestEngine, { fromS, lengthS, granularityS, wishes }: QuestionOf): void {
  const range = {
    fromS: BASE_S + fromS,
    toS: BASE_S + fromS + lengthS,
    // A thousand buckets are enough to see everything.
    granularityS: Math.max(granularityS, granularityS * Math.ceil(lengthS / granularityS / 4_000)),
  };
  const columns = wishes.map(({ which, ...rest }) => ({ ...rest, of: engine.series[which] as TestSeries }));
  const expected = modelRows(range, columns);
  const rows = engine.rows(range, columns);
  assert.equal(rows.length, expected.length, `rows of ${JSON.stringify({ range, wishes })}`);
  for (const [index, row] of rows.entries()) {
    const cells = cellsOf(row);
    const wanted = expected[index] ?? [];
    assert.equal(cells.length, wanted.length);
    for (const [column, cell] of cells.entries())
      assert.ok(isSame(cell, wanted[column]), `${cell} instead of ${String(wanted[column])} in ${row}`);
  }
}
type QuestionOf = typeof question extends Arbitrary<infer Value> ? Value : never;

function cellsOf(row: string): string[] {
  const cells: string[] = [];
  for (let at = 0; at <= row.length;) {
    const match = /^(?:"((?:[^"]|"")*)"|([^,]*))/.exec(row.slice(at));
    cells.push((match?.[1] ?? match?.[2] ?? '').replaceAll('""', '"'));
    at += (match?.[0].length ?? 0) + 1;
  }
  return cells;
}

/** Averages and interpolations may differ in the last digits: they are added up in another order. */
function isSame(cell: string, wanted: StoredValue | undefined): boolean {
  if (wanted === undefined) return cell === '';
  if (typeof wanted === 'string') return cell === wanted.replaceAll(/\r\n|\r|\n/g, ' ');
  if (cell === String(wanted)) return true;
  if (typeof wanted !== 'number') return false;
  if (!Number.isFinite(wanted)) return cell === '' || Math.abs(Number(cell)) > 1e300;
  return Math.abs(Number(cell) - wanted) <= Math.max(1e-9, Math.abs(wanted) * 1e-9);
}

describe('the store of samples', () => {
  test('the store of samples answers like a plain list of all samples, whatever was sealed, compacted, killed or started again', async () => {
    await assertProperty(
      asyncProperty(
        array(oneof({ weight: 3, arbitrary: writing(TYPES) }, maintenance), { minLength: 1, maxLength: 25 }),
        array(question, { minLength: 1, maxLength: 8 }),
        async (actions, questions) => {
          const folder = mkdtempSync(join(tmpdir(), 'gateway-engine-'));
          const engine = startEngine({ folder, limits: { openChunkSamples: 7 } });
          try {
            for (const type of TYPES) engine.addSeries(type);
            for (const action of actions) await action(engine);
            for (const asked of questions) check(engine, asked);
            assert.equal(engine.engine.status().damaged, 0);
          } finally {
            engine.close();
            rmSync(folder, { recursive: true, force: true });
          }
        },
      ),
      { numRuns: runs(40) },
    );
  });
});
