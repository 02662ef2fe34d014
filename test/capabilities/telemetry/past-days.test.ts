/** Charts of weeks and years: days that are over, by quarters of an hour or longer. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../../support/workspace.ts';
import { type ColumnWish, modelRows, startEngine, TODAY_S } from './engine-support.ts';

const DAY_S = 86_400;
const DAYS = 5;
const STEP_S = 300;

describe('a query over days that are over', () => {
  test('reads each day of a series once, however many columns it has, and answers with all its samples', async (t) => {
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
    const read = t.mock.method(engine.store, 'block');
    const rows = engine.rows(range, wishes);
    assert.deepEqual(
      rows,
      modelRows(range, wishes).map((row) => row.join(',')),
    );
    // The columns of a series begin a day ahead of each other.
    const once = DAYS * series.length;
    assert.ok(read.mock.callCount() <= once + wishes.length, `${read.mock.callCount()} blocks for ${once}`);
  });
});
