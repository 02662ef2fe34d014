import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createColumnCursors, type SampleSource } from '../../src/telemetry-store/query/column-cursor.ts';
import type { PlannedColumn, QueryPlan } from '../../src/telemetry-store/query/query-plan.ts';
import { temporaryFolder } from '../support/workspace.ts';
import { DAY_S, startEngine, TODAY_S, writeDay } from './engine-support.ts';

const AGGREGATIONS = ['avg', 'min', 'max'] as const;

const columnOf = (seriesId: number, aggregation: PlannedColumn['aggregation']): PlannedColumn => ({
  seriesId,
  kind: 'number',
  aggregation,
  gapMethod: 'none',
  lookAroundS: 0,
  type: 'float',
});

/** The same source, and how often it is read. */
function counted(source: SampleSource): { source: SampleSource; visits: () => number } {
  let visits = 0;
  return {
    source: {
      last: (...range) => source.last(...range),
      first: (...range) => source.first(...range),
      nextData: (...range) => source.nextData(...range),
      visit: (...range) => {
        visits++;
        source.visit(...range);
      },
    },
    visits: () => visits,
  };
}

/** Every bucket of the columns, row by row, and how often the source was read for them. */
function readAll(plan: QueryPlan, live: SampleSource): { rows: unknown[][]; visits: number } {
  const { source, visits } = counted(live);
  const cursors = createColumnCursors(plan, source);
  const rows: unknown[][] = [];
  for (;;) {
    for (const cursor of cursors) while (!cursor.isReady()) cursor.advance();
    const startS = Math.min(...cursors.map(({ next }) => next()));
    if (startS >= plan.toS) return { rows, visits: visits() };
    rows.push([startS, ...cursors.map(({ cell }) => cell(startS))]);
  }
}

test('a series is read as often for its mean with a band as for its mean alone', async (t) => {
  const engine = startEngine({ folder: temporaryFolder(t) });
  t.after(() => engine.close());
  const [first, second] = [engine.addSeries('float'), engine.addSeries('float')];
  for (const series of [first, second]) writeDay(engine, series, TODAY_S - DAY_S);
  await engine.engine.seal();
  const ids = [first.series.id, second.series.id];
  const live = engine.engine.source.asOfNow(ids);
  const period = { fromS: TODAY_S - 2 * DAY_S, toS: TODAY_S + DAY_S };
  const edges = [-2, -1.5, -1, -0.25, 0, 1].map((days) => TODAY_S + days * DAY_S);
  for (const shape of [
    { granularityS: 60 },
    { granularityS: 900 },
    { granularityS: 900, bucketEdgesS: edges },
  ]) {
    const plan = { ...period, ...shape };
    const alone = ids.map((id) => AGGREGATIONS.map((aggregation) => [columnOf(id, aggregation)]));
    const together = readAll({ ...plan, columns: alone.flat(2) }, live);
    const means = readAll({ ...plan, columns: ids.map((id) => columnOf(id, 'avg')) }, live);
    assert.equal(together.visits, means.visits);
    assert.ok(together.rows.length > 1);
    for (const [place, columns] of alone.flat().entries())
      assert.deepEqual(
        together.rows.map((row) => [row[0], row[place + 1]]),
        readAll({ ...plan, columns }, live).rows,
      );
  }
});
