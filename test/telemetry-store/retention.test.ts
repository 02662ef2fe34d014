import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retentionPolicy } from '../../src/capabilities/telemetry/index.ts';
import { temporaryFolder } from '../support/workspace.ts';
import {
  countRows,
  DAY_S,
  maintain,
  startEngine,
  type TestSeries,
  TODAY_S,
  writeDay,
} from './engine-support.ts';

describe('retention', () => {
  test('retention leaves minutes of old samples, quarter hours of old minutes, then nothing', async (t) => {
    const policy = { sampleDays: 3, minuteDays: 6, quarterDays: 9 };
    const engine = startEngine({ folder: temporaryFolder(t), policy });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    writeDay(engine, series, TODAY_S - DAY_S, 10);
    const rows = (granularityS: number): number =>
      countRows(engine, series, granularityS, TODAY_S - DAY_S, TODAY_S);
    const exact = (): string[] =>
      engine.rows({ fromS: TODAY_S - DAY_S, toS: TODAY_S, granularityS: 3_600 }, [
        { of: series, aggregation: 'min' },
        { of: series, aggregation: 'max' },
        { of: series, aggregation: 'last' },
      ]);
    await maintain(engine);
    assert.deepEqual([rows(10), rows(60), rows(900)], [8_640, 1_440, 96]);
    const before = exact();
    await maintain(engine, 4);
    assert.deepEqual([rows(10), rows(60), rows(900)], [1_440, 1_440, 96]);
    assert.deepEqual(exact(), before);
    await maintain(engine, 3);
    assert.deepEqual([rows(10), rows(60), rows(900)], [96, 96, 96]);
    assert.deepEqual(exact(), before);
    await maintain(engine, 3);
    assert.deepEqual([rows(10), rows(900)], [0, 0]);
  });

  test('retention keeps the hourly values when the program is killed at any point of it', async (t) => {
    for (let pauses = 0; pauses < 14; pauses++) {
      const engine = startEngine({ folder: temporaryFolder(t), policy: { sampleDays: 1 } });
      const series = [engine.addSeries('float'), engine.addSeries('float')];
      for (const each of series) for (const day of [3, 2]) writeDay(engine, each, TODAY_S - day * DAY_S, 30);
      const hours = (): string[] =>
        engine.rows(
          { fromS: TODAY_S - 3 * DAY_S, toS: TODAY_S, granularityS: 3_600 },
          series.flatMap((of) =>
            (['min', 'max', 'last'] as const).map((aggregation) => ({ of, aggregation })),
          ),
        );
      const before = hours();
      await engine.killed(pauses, async () => {
        await engine.clock.advance(3_600_000);
        await engine.engine.seal();
        await engine.engine.maintain();
      });
      assert.deepEqual(hours(), before, `killed after ${pauses} pauses`);
      await maintain(engine, 1);
      assert.deepEqual(hours(), before, `and completed after ${pauses} pauses`);
      for (const each of series)
        assert.equal(engine.store.firstDay(each.series.id, 1, 0), undefined, 'samples have expired');
      assert.equal(engine.engine.status().damaged, 0);
      engine.close();
    }
  });

  test('retention deletes nothing young when the clock jumps years ahead, however long it stays', async (t) => {
    const policy = { sampleDays: 8, minuteDays: 8, quarterDays: 8 };
    const engine = startEngine({ folder: temporaryFolder(t), policy });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    for (let day = 8; day >= 1; day--) writeDay(engine, series, TODAY_S - day * DAY_S);
    await maintain(engine);
    engine.clock.step(20 * 365 * DAY_S * 1_000);
    for (let hour = 0; hour < 10; hour++) await maintain(engine);
    engine.clock.step(-20 * 365 * DAY_S * 1_000);
    const left = countRows(engine, series, 60, TODAY_S - 8 * DAY_S, TODAY_S) / 1_440;
    assert.equal(left, 8);
    await maintain(engine);
    assert.equal(countRows(engine, series, 60, TODAY_S - 8 * DAY_S, TODAY_S) / 1_440, 8);
  });

  test('retention is shorter for single attributes when asked', async (t) => {
    const policy = { sampleDays: 5, sampleDaysOf: { noisy: 1 } };
    const engine = startEngine({ folder: temporaryFolder(t), policy });
    t.after(() => engine.close());
    const noisy = engine.addSeries('float', 'noisy');
    const calm = engine.addSeries('float', 'calm');
    for (const series of [noisy, calm]) writeDay(engine, series, TODAY_S - DAY_S, 30);
    await maintain(engine, 2);
    assert.equal(countRows(engine, noisy, 30, TODAY_S - DAY_S, TODAY_S), 1_440);
    assert.equal(countRows(engine, calm, 30, TODAY_S - DAY_S, TODAY_S), 2_880);
  });

  test('retention adds samples that come after their day expired to the cells that remain', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sampleDays: 2 } });
    t.after(() => engine.close());
    const series = engine.addSeries('integer');
    engine.write([[series, TODAY_S - DAY_S + 30, 1]]);
    await maintain(engine, 3);
    engine.write([
      [series, TODAY_S - DAY_S + 90, 7],
      [series, TODAY_S - DAY_S + 99, 5],
    ]);
    const rows = (): string[] =>
      engine.rows({ fromS: TODAY_S - DAY_S, toS: TODAY_S, granularityS: 60 }, [
        { of: series, aggregation: 'max' },
      ]);
    const expected = [`${TODAY_S - DAY_S},1`, `${TODAY_S - DAY_S + 60},7`];
    assert.deepEqual(rows(), expected);
    await maintain(engine);
    assert.deepEqual(rows(), expected);
  });

  test('retention changes nothing when the samples of an expired day come again, in whole or in part', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sampleDays: 2 } });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    writeDay(engine, series, TODAY_S - DAY_S, 10);
    await maintain(engine, 3);
    const quarters = (): string[] =>
      engine.rows({ fromS: TODAY_S - DAY_S, toS: TODAY_S, granularityS: 900 }, [
        { of: series, aggregation: 'avg' },
        { of: series, aggregation: 'last' },
      ]);
    const before = quarters();
    assert.equal(engine.store.firstDay(series.series.id, 1, 0), undefined, 'samples have expired');
    const again = [...series.samples].slice(0, 1_000);
    writeDay(engine, series, TODAY_S - DAY_S, 10);
    await maintain(engine, 1);
    assert.deepEqual(quarters(), before);
    for (let from = 0; from < again.length; from += 125) {
      engine.write(again.slice(from, from + 125).map(([at, value]) => [series, at, value]));
      await maintain(engine, 1);
    }
    assert.deepEqual(quarters(), before);
  });

  test('retention waits with a day that gets samples until they are in its block', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sampleDays: 2 } });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    const startS = TODAY_S - 10 * DAY_S;
    const sample = (second: number): [TestSeries, number, number] => [series, startS + second, second];
    const seconds = Array.from({ length: 900 }, (_, second) => second);
    engine.write(seconds.slice(0, 400).map(sample));
    await engine.engine.seal();
    engine.write(seconds.slice(400).map(sample));
    const quarter = (): string[] =>
      engine.rows({ fromS: startS, toS: startS + 900, granularityS: 900 }, [
        { of: series, aggregation: 'avg' },
      ]);
    const hasSamples = (): boolean => engine.store.firstDay(series.series.id, 1, 0) !== undefined;
    await engine.engine.maintain();
    assert.ok(hasSamples(), 'the rest is in the journal');
    await engine.engine.seal();
    await engine.clock.advance(3_600_000);
    await engine.engine.maintain();
    assert.ok(!hasSamples(), 'all of it was in the block');
    assert.deepEqual(quarter(), [`${startS},449.5`]);
  });

  test('retention removes a dropped series, in blocks, parts and journal, and never shows it again', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const gone = engine.addSeries('float');
    const stays = engine.addSeries('float');
    for (const series of [gone, stays]) {
      writeDay(engine, series, TODAY_S - DAY_S);
      await maintain(engine);
      engine.write([[series, TODAY_S + 1, 1]]);
    }
    await engine.engine.seal();
    engine.drop(gone);
    engine.restart();
    assert.deepEqual(
      engine.content.series.map(({ series }) => series.id),
      [stays.series.id],
    );
    await maintain(engine);
    assert.equal(engine.store.firstDay(gone.series.id, 1, 0), undefined);
    assert.equal(engine.store.nextSeriesWithBlocks(-1), stays.series.id);
    assert.equal(countRows(engine, gone, 60, TODAY_S - DAY_S, TODAY_S + DAY_S), 0);
    assert.equal(countRows(engine, stays, 60, TODAY_S - DAY_S, TODAY_S + DAY_S), 1_441);
  });
});

describe('the policy of the options', () => {
  test('the policy of the options takes days of single attributes from a list', () => {
    const policy = retentionPolicy({
      telemetrySampleDays: 730,
      telemetrySampleDaysOf: 'noise=30, wind = 60',
      telemetryMinuteDays: 1_825,
      telemetryQuarterDays: 7_300,
      historyMaxMib: 64,
    });
    assert.deepEqual(policy, {
      sampleDays: 730,
      minuteDays: 1_825,
      quarterDays: 7_300,
      sampleDaysOf: { noise: 30, wind: 60 },
      sizeMaxBytes: 67_108_864,
    });
  });
});
