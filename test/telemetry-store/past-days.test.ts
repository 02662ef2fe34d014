/** Charts of weeks and years: days that are over, by quarters of an hour or longer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BlockSource } from '../../src/telemetry-store/engine/block-source.ts';
import { temporaryFolder } from '../support/workspace.ts';
import { type ColumnWish, modelRows, startEngine, TODAY_S } from './engine-support.ts';

const DAY_S = 86_400;
const DAYS = 5;
const STEP_S = 300;

describe('a query over days that are over', () => {
  test('a query over past days reads each day of a series once, however many columns it has, and answers with all its samples', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = [engine.addSeries('integer'), engine.addSeries('integer')];
    for (let second = 0; second < DAYS * DAY_S; second += STEP_S)
      engine.write(series.map((one, index) => [one, TODAY_S + second, (second / STEP_S) % (70 + index)]));
    await engine.clock.advance((DAYS + 1) * DAY_S * 1_000);
    await engine.engine.seal();
    await engine.engine.maintain();
    const wishes: ColumnWish[] = series.flatMap((of) =>
      (['min', 'max', 'last'] as const).map((aggregation) => ({ of, aggregation })),
    );
    const range = { fromS: TODAY_S, toS: TODAY_S + DAYS * DAY_S, granularityS: DAY_S };
    const read = t.mock.method(BlockSource.prototype, 'rollup');
    const rows = engine.rows(range, wishes);
    assert.deepEqual(
      rows,
      modelRows(range, wishes).map((row) => row.join(',')),
    );
    assert.equal(read.mock.callCount(), DAYS * series.length);
  });
});

describe('a day that is over', () => {
  test('a past day waits for its last samples to be sealed, so that it is compacted once', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = engine.addSeries('integer');
    const blocks = (): unknown =>
      engine.database.prepare('SELECT resolution_s, day FROM telemetry_block ORDER BY resolution_s').all();
    const reach = (second: number): Promise<void> =>
      engine.clock.advance((TODAY_S + second) * 1_000 - engine.clock.wallMs());
    const day = TODAY_S / DAY_S;

    await reach(DAY_S - 3_600);
    engine.write([[series, TODAY_S + DAY_S - 3_700, 1]]);
    await engine.engine.seal();
    engine.write([[series, TODAY_S + DAY_S - 1, 2]]);
    await reach(DAY_S + 1_200);
    engine.write([[series, TODAY_S + DAY_S + 1_200, 3]]);
    await engine.engine.maintain();
    assert.deepEqual(blocks(), []);

    await reach(DAY_S + 2 * 3_600);
    await engine.engine.maintain();
    assert.deepEqual(blocks(), [
      { resolution_s: 1, day },
      { resolution_s: 900, day },
    ]);
    assert.equal(engine.store.part(1), undefined);
    const range = { fromS: TODAY_S, toS: TODAY_S + 2 * DAY_S, granularityS: DAY_S };
    const wishes: ColumnWish[] = [{ of: series, aggregation: 'max' }];
    assert.deepEqual(
      engine.rows(range, wishes),
      modelRows(range, wishes).map((row) => row.join(',')),
    );
  });
});
