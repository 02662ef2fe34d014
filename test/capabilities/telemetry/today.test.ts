/** The chart that everybody opens first: a day that is not sealed into a block yet, by minutes. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { hasCells } from '../../../src/telemetry-store/codec/block-parts.ts';
import { decodeBlock, encodeBlock } from '../../../src/telemetry-store/codec/block.ts';
import { Samples } from '../../../src/telemetry-store/codec/samples.ts';
import { kindOf, type StoredValue } from '../../../src/telemetry-store/codec/series.ts';
import { dayOf } from '../../../src/telemetry-store/engine/state.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import {
  type ColumnWish,
  DAY_S,
  maintain,
  modelRows,
  rowsOf,
  startEngine,
  type TestEngine,
  type TestSeries,
  TODAY_S,
} from '../../telemetry-store/engine-support.ts';

const FORMS: [type: 'float' | 'integer' | 'boolean' | 'string', value: (second: number) => StoredValue][] = [
  ['float', (second) => Math.round(2_300 + 100 * Math.sin(second / 50)) / 10],
  ['integer', (second) => 2n ** 60n + BigInt(second % 97)],
  ['boolean', (second) => second % 131 === 0],
  ['string', (second) => `text ${Math.floor(second / 40)}`],
];

function started(t: TestContext): { engine: TestEngine; wishes: ColumnWish[] } {
  const engine = startEngine({ folder: temporaryFolder(t) });
  t.after(() => engine.close());
  const [float, integer, boolean, text] = FORMS.map(([type]) => engine.addSeries(type)) as [
    TestSeries,
    TestSeries,
    TestSeries,
    TestSeries,
  ];
  const wishes: ColumnWish[] = [
    ...(['avg', 'min', 'max', 'last'] as const).map((aggregation) => ({ of: float, aggregation })),
    ...(['min', 'max', 'last'] as const).map((aggregation) => ({ of: integer, aggregation })),
    { of: boolean, aggregation: 'bool_or' },
    { of: text, aggregation: 'last' },
  ];
  return { engine, wishes };
}

/** One sample a second of every series. */
function write(engine: TestEngine, fromS: number, toS: number, shift = 0): void {
  for (let second = fromS; second < toS; second++)
    engine.write(
      engine.series.map((series, index) => [
        series,
        TODAY_S + second,
        FORMS[index]?.[1](second + shift) ?? 0,
      ]),
    );
}

/** The answer is that of all samples in a plain list; the second time, too. */
function check(
  engine: TestEngine,
  wishes: ColumnWish[],
  fromS: number,
  toS: number,
  granularityS = 60,
): void {
  const range = { fromS: TODAY_S + fromS, toS: TODAY_S + toS, granularityS };
  const expected = modelRows(range, wishes).map((row) => row.map(String));
  for (const round of ['first', 'second']) {
    const rows = engine.rows(range, wishes).map((row) => row.split(','));
    assert.equal(rows.length, expected.length);
    for (const [index, row] of rows.entries())
      for (const [column, cell] of row.entries()) {
        const wanted = expected[index]?.[column] ?? '';
        const isSame = cell === wanted || Math.abs(Number(cell) - Number(wanted)) < 1e-9;
        assert.ok(isSame, `${cell} instead of ${wanted}, ${round} time, column ${column} of row ${index}`);
      }
  }
}

describe('the chart of today', () => {
  test('the chart of today equals its samples, wherever it begins and ends and however often it is requested', async (t) => {
    const { engine, wishes } = started(t);
    for (const [fromS, toS] of [
      [10, 1_000],
      [1_000, 1_777],
      [1_800, 2_500],
    ] as const) {
      write(engine, fromS, toS);
      await engine.engine.seal();
    }
    write(engine, 2_500, 2_700);
    for (const granularityS of [60, 300, 86_400]) {
      check(engine, wishes, 0, 3_000, granularityS);
      check(engine, wishes, 31, 2_601, granularityS);
      check(engine, wishes, 1_013, 1_999, granularityS);
    }
    assert.equal(engine.engine.status().damaged, 0);
  });

  test('the chart of today equals its samples where parts have no cells, as those of an earlier version', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 0, 1_000);
    await engine.engine.seal();
    for (const [index, { series }] of engine.series.entries()) {
      const id = 1 + index;
      const part = engine.store.part(id) ?? Buffer.alloc(0);
      assert.equal(hasCells(part), series.type !== 'string');
      const samples = new Samples(kindOf(series.type));
      decodeBlock(series.id, part, samples);
      const block = encodeBlock(series.id, samples, 0, samples.count);
      engine.database.prepare('UPDATE telemetry_part SET data = ? WHERE id = ?').run(block, id);
    }
    write(engine, 1_000, 1_500);
    await engine.engine.seal();
    for (const granularityS of [60, 300]) check(engine, wishes, 0, DAY_S, granularityS);
    assert.equal(engine.engine.status().damaged, 0);
  });

  test('the chart of today counts a damaged part once and shows the rest', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 0, 600);
    await engine.engine.seal();
    write(engine, 600, 1_200);
    await engine.engine.seal();
    engine.database.prepare('UPDATE telemetry_part SET data = zeroblob(99) WHERE id = 1').run();
    const range = { fromS: TODAY_S, toS: TODAY_S + DAY_S, granularityS: 60 };
    assert.equal(engine.rows(range, wishes.slice(0, 1)).length, 10);
    assert.equal(engine.engine.status().damaged, 1);
  });

  test('the chart of today shows later corrections, sealed or not', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 0, 1_000);
    await engine.engine.seal();
    write(engine, 1_000, 2_000);
    await engine.engine.seal();
    check(engine, wishes, 0, 2_000);
    write(engine, 500, 600, 7);
    check(engine, wishes, 0, 2_000);
    await engine.engine.seal();
    check(engine, wishes, 0, 2_000);
  });
});

describe('what of today is in the journal only', () => {
  test('the chart of unsealed samples equals them while they grow, wherever it begins and ends', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 10, 1_000);
    await engine.engine.seal();
    for (const [fromS, toS] of [
      [1_000, 1_200],
      [1_200, 2_900],
      [2_900, 2_950],
      [2_950, 4_700],
    ] as const) {
      write(engine, fromS, toS);
      for (const granularityS of [60, 300, 1]) check(engine, wishes, 0, DAY_S, granularityS);
      check(engine, wishes, 31, toS - 17);
      check(engine, wishes, 1_513, toS + 40);
      check(engine, wishes, toS - 100, toS + 20);
    }
    await engine.engine.seal();
    check(engine, wishes, 0, DAY_S);
  });

  test('the chart of unsealed samples shows corrections of packed and unpacked ones', (t) => {
    const { engine, wishes } = started(t);
    write(engine, 0, 2_000);
    check(engine, wishes, 0, 3_000);
    write(engine, 1_950, 1_960, 7);
    check(engine, wishes, 0, 3_000);
    write(engine, 500, 900, 11);
    check(engine, wishes, 0, 3_000);
    write(engine, 2_000, 3_000);
    check(engine, wishes, 0, 3_000);
  });

  test('the chart of unsealed samples goes over midnight', (t) => {
    const { engine, wishes } = started(t);
    write(engine, DAY_S - 2_000, DAY_S + 2_000);
    check(engine, wishes, DAY_S - 2_100, DAY_S + 2_100);
    check(engine, wishes, DAY_S - 1_313, DAY_S + 1_020);
    check(engine, wishes, DAY_S - 3_600, DAY_S);
    check(engine, wishes, DAY_S, DAY_S + 3_600, 300);
  });

  test('a slow answer contains nothing that came after its beginning', (t) => {
    const { engine, wishes } = started(t);
    const range = { fromS: TODAY_S, toS: TODAY_S + DAY_S, granularityS: 60 };
    write(engine, 0, 1_000);
    check(engine, wishes, 0, DAY_S);
    const before = engine.rows(range, wishes);
    const slow = engine.pieces(range, wishes);
    const pieces = [slow.next().value ?? undefined];
    write(engine, 1_000, 3_000);
    assert.notDeepEqual(engine.rows(range, wishes), before);
    pieces.push(...slow);
    assert.deepEqual(rowsOf(pieces), before);
  });
});

describe('the day before, in its block', () => {
  test('the chart of yesterday equals its samples, wherever it begins and however often it is requested', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 10, 2_777);
    await maintain(engine, 1);
    assert.ok(engine.store.block(engine.series[0]?.series.id ?? 0, 1, dayOf(TODAY_S)), 'there is a block');
    write(engine, DAY_S, DAY_S + 500);
    for (const fromS of [60, 31, 45, 631, 1_000, 1_020, 2_760, 2_777])
      for (const toS of [DAY_S + 3_000, 2_640, 2_601]) if (toS > fromS) check(engine, wishes, fromS, toS);
    check(engine, wishes, 31, DAY_S + 3_000, 300);
    assert.equal(engine.engine.status().damaged, 0);
  });

  test('the chart of yesterday continues in parts that came after its block', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 10, 1_777);
    await maintain(engine, 1);
    check(engine, wishes, 31, DAY_S);
    write(engine, 1_777, 2_300);
    await engine.engine.seal();
    write(engine, 2_300, 2_700);
    for (const [fromS, toS] of [
      [31, DAY_S],
      [60, 2_640],
      [1_751, DAY_S],
      [1_790, DAY_S],
      [2_401, DAY_S],
      [31, 2_222],
    ] as const)
      check(engine, wishes, fromS, toS);
    await engine.engine.seal();
    check(engine, wishes, 31, DAY_S);
    assert.equal(engine.engine.status().damaged, 0);
  });

  test('the chart of yesterday finds a block that did not exist for an earlier chart', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 10, 1_777);
    check(engine, wishes, 31, DAY_S);
    await maintain(engine, 1);
    write(engine, 1_777, 2_300);
    check(engine, wishes, 31, DAY_S);
  });

  test('the chart of yesterday shows later corrections, sealed and compacted or not', async (t) => {
    const { engine, wishes } = started(t);
    write(engine, 0, 2_000);
    await maintain(engine, 1);
    check(engine, wishes, 31, DAY_S);
    write(engine, 40, 600, 7);
    check(engine, wishes, 31, DAY_S);
    await engine.engine.seal();
    check(engine, wishes, 31, DAY_S);
    await maintain(engine, 1);
    check(engine, wishes, 31, DAY_S);
  });
});
