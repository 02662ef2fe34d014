import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { retentionPolicy } from '../../../src/capabilities/telemetry/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { startEngine, type TestEngine, type TestSeries } from './engine-support.ts';

const DAY_S = 86_400;
const TODAY_S = Date.UTC(2026, 2, 1) / 1_000;

/** A day of samples, one every `stepS` seconds. */
function writeDay(engine: TestEngine, series: TestSeries, dayStartS: number, stepS = 60): void {
  for (let from = 0; from < DAY_S; from += stepS * 500)
    engine.write(
      Array.from({ length: Math.min(500, Math.ceil((DAY_S - from) / stepS)) }, (_, index) => {
        const at = from + index * stepS;
        return [series, dayStartS + at, Math.round(2_300 + 100 * Math.sin(at / 5_000)) / 10];
      }),
    );
}

async function keepHouse(engine: TestEngine, days = 0): Promise<void> {
  for (let day = 0; day < days; day++) {
    await engine.clock.advance(DAY_S * 1_000);
    await engine.engine.keepHouse();
  }
  await engine.clock.advance(3_600_000);
  await engine.engine.seal();
  await engine.engine.keepHouse();
}

function countRows(
  engine: TestEngine,
  series: TestSeries,
  granularityS: number,
  fromS: number,
  toS: number,
): number {
  return engine.rows({ fromS, toS, granularityS }, [{ of: series, aggregation: 'last' }]).length;
}

describe('a damaged block', () => {
  for (const [what, sql] of [
    [
      'day block',
      'UPDATE telemetry_block SET data = zeroblob(length(data)) WHERE resolution_s = 1 AND day = ?',
    ],
    [
      'block with one wrong byte',
      "UPDATE telemetry_block SET data = CAST(substr(data, 1, 40) || x'ff' || substr(data, 42) AS BLOB) WHERE resolution_s = 1 AND day = ?",
    ],
  ] as const)
    test(`costs that block, is reported and skipped: ${what}`, async (t) => {
      const engine = startEngine({ folder: temporaryFolder(t) });
      t.after(() => engine.close());
      const series = engine.addSeries('float');
      for (const day of [3, 2, 1]) writeDay(engine, series, TODAY_S - day * DAY_S);
      await keepHouse(engine);
      engine.database.prepare<[number]>(sql).run(TODAY_S / DAY_S - 2);
      const rows = (fromDay: number): number =>
        countRows(engine, series, 60, TODAY_S - fromDay * DAY_S, TODAY_S - (fromDay - 1) * DAY_S);
      assert.deepEqual([rows(3), rows(2), rows(1)], [1_440, 96, 1_440], 'roll-ups stand in');
      assert.equal(engine.engine.status().damaged, 1);
      assert.match(engine.lines.at(-1)?.message ?? '', /damaged and was skipped/);
    });

  test('among the parts of today costs its samples only', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = engine.addSeries('integer');
    for (const part of [0, 1, 2]) {
      engine.write([[series, TODAY_S + part, part]]);
      await engine.engine.seal();
    }
    engine.database.prepare("UPDATE telemetry_part SET data = x'00' WHERE id = 1").run();
    assert.equal(countRows(engine, series, 1, TODAY_S, TODAY_S + 10), 2);
    engine.database.prepare("UPDATE telemetry_state SET value = x'0708' WHERE name = 'latest'").run();
    engine.database.prepare("UPDATE telemetry_generation SET directory = x'05' WHERE id = 2").run();
    engine.restart();
    assert.equal(engine.engine.status().damaged, 2);
    assert.equal(countRows(engine, series, 1, TODAY_S, TODAY_S + 10), 1);
  });

  test('in the journal costs the records up to the next key record', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = engine.addSeries('integer');
    for (let index = 0; index < 9; index++) engine.write([[series, TODAY_S + index, index]]);
    engine.journal = engine.journal.filter((record) => record.sequence !== 5);
    engine.restart();
    const rows = engine.rows({ fromS: TODAY_S, toS: TODAY_S + 9, granularityS: 1 }, [
      { of: series, aggregation: 'last' },
    ]);
    assert.deepEqual(
      rows.map((row) => Number(row.split(',')[1])),
      [0, 1, 2, 3, 6, 7, 8],
    );
  });
});

describe('an answer', () => {
  for (const [what, meanwhile] of [
    ['arrive', () => Promise.resolve()],
    ['arrive and are sealed', (engine: TestEngine) => engine.engine.seal()],
  ] as const)
    test(`knows the same messages in all its columns while further ones ${what}`, async (t) => {
      const engine = startEngine({ folder: temporaryFolder(t) });
      t.after(() => engine.close());
      const series = [engine.addSeries('float'), engine.addSeries('string'), engine.addSeries('integer')];
      const message = (at: number): void =>
        engine.write(series.map((each, index) => [each, TODAY_S + at, index === 1 ? `text ${at}` : at]));
      message(0);
      await engine.engine.seal();
      message(1);
      const pieces = engine.pieces(
        { fromS: TODAY_S, toS: TODAY_S + 100, granularityS: 1 },
        series.map((of) => ({ of, aggregation: 'last' })),
      );
      let text = '';
      let at = 2;
      for (const piece of pieces) {
        text += piece;
        // Between two pieces the thread of the store takes in what arrives.
        message(at++);
        await meanwhile(engine);
      }
      assert.ok(at > 4, 'there were pauses');
      assert.equal(text, `${TODAY_S},0,text 0,0\n${TODAY_S + 1},1,text 1,1\n`);
    });

  test('has nothing of a device that is deleted while it is read', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = engine.addSeries('string');
    engine.write([[series, TODAY_S, 'gone']]);
    const pieces = engine.pieces({ fromS: TODAY_S, toS: TODAY_S + 100, granularityS: 1 }, [
      { of: engine.addSeries('float'), aggregation: 'last' },
      { of: series, aggregation: 'last' },
    ]);
    pieces.next();
    engine.drop(series);
    assert.equal([...pieces].join(''), '');
  });
});

describe('retention', () => {
  test('leaves minutes of old samples, quarter hours of old minutes, then nothing', async (t) => {
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
    await keepHouse(engine);
    assert.deepEqual([rows(10), rows(60), rows(900)], [8_640, 1_440, 96]);
    const before = exact();
    await keepHouse(engine, 4);
    assert.deepEqual([rows(10), rows(60), rows(900)], [1_440, 1_440, 96]);
    assert.deepEqual(exact(), before);
    await keepHouse(engine, 3);
    assert.deepEqual([rows(10), rows(60), rows(900)], [96, 96, 96]);
    assert.deepEqual(exact(), before);
    await keepHouse(engine, 3);
    assert.deepEqual([rows(10), rows(900)], [0, 0]);
  });

  test('says the same by the hour when the program is killed at any point of it', async (t) => {
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
        await engine.engine.keepHouse();
      });
      assert.deepEqual(hours(), before, `killed after ${pauses} pauses`);
      await keepHouse(engine, 1);
      assert.deepEqual(hours(), before, `and completed after ${pauses} pauses`);
      for (const each of series)
        assert.equal(engine.store.firstDay(each.series.id, 1, 0), undefined, 'samples have expired');
      assert.equal(engine.engine.status().damaged, 0);
      engine.close();
    }
  });

  test('loses days, not everything, to a clock that jumps years ahead', async (t) => {
    const policy = { sampleDays: 8, minuteDays: 8, quarterDays: 8 };
    const engine = startEngine({ folder: temporaryFolder(t), policy });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    for (let day = 8; day >= 1; day--) writeDay(engine, series, TODAY_S - day * DAY_S);
    await keepHouse(engine);
    engine.clock.step(20 * 365 * DAY_S * 1_000);
    await keepHouse(engine);
    await keepHouse(engine);
    engine.clock.step(-20 * 365 * DAY_S * 1_000);
    const left = countRows(engine, series, 60, TODAY_S - 8 * DAY_S, TODAY_S) / 1_440;
    assert.equal(left, 6);
    await keepHouse(engine);
    assert.equal(countRows(engine, series, 60, TODAY_S - 8 * DAY_S, TODAY_S) / 1_440, 6);
  });

  test('is shorter for single attributes when asked', async (t) => {
    const policy = { sampleDays: 5, sampleDaysOf: { noisy: 1 } };
    const engine = startEngine({ folder: temporaryFolder(t), policy });
    t.after(() => engine.close());
    const noisy = engine.addSeries('float', 'noisy');
    const calm = engine.addSeries('float', 'calm');
    for (const series of [noisy, calm]) writeDay(engine, series, TODAY_S - DAY_S, 30);
    await keepHouse(engine, 2);
    assert.equal(countRows(engine, noisy, 30, TODAY_S - DAY_S, TODAY_S), 1_440);
    assert.equal(countRows(engine, calm, 30, TODAY_S - DAY_S, TODAY_S), 2_880);
  });

  test('adds samples that come after their day expired to what is left of it', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sampleDays: 2 } });
    t.after(() => engine.close());
    const series = engine.addSeries('integer');
    engine.write([[series, TODAY_S - DAY_S + 30, 1]]);
    await keepHouse(engine, 3);
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
    await keepHouse(engine);
    assert.deepEqual(rows(), expected);
  });

  test('removes a dropped series, in blocks, parts and journal, and never shows it again', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const gone = engine.addSeries('float');
    const stays = engine.addSeries('float');
    for (const series of [gone, stays]) {
      writeDay(engine, series, TODAY_S - DAY_S);
      await keepHouse(engine);
      engine.write([[series, TODAY_S + 1, 1]]);
    }
    await engine.engine.seal();
    engine.drop(gone);
    engine.restart();
    assert.deepEqual(
      engine.content.series.map(({ series }) => series.id),
      [stays.series.id],
    );
    await keepHouse(engine);
    assert.equal(engine.store.firstDay(gone.series.id, 1, 0), undefined);
    assert.equal(engine.store.nextSeriesWithBlocks(-1), stays.series.id);
    assert.equal(countRows(engine, gone, 60, TODAY_S - DAY_S, TODAY_S + DAY_S), 0);
    assert.equal(countRows(engine, stays, 60, TODAY_S - DAY_S, TODAY_S + DAY_S), 1_441);
  });
});

describe('the size of the file', () => {
  test('stays below its limit whatever is written, by removing the oldest', async (t) => {
    const sizeMaxBytes = 3 * 1_048_576;
    const limits = { openSamples: 10_000 };
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sizeMaxBytes }, limits });
    t.after(() => engine.close());
    const series = Array.from({ length: 4 }, () => engine.addSeries('float'));
    let random = 1;
    for (let day = 0; day < 12; day++) {
      const startS = TODAY_S + day * DAY_S;
      for (const each of series)
        for (let from = 0; from < 17_280; from += 1_728) {
          await engine.engine.keepHouse();
          engine.write(
            Array.from({ length: 1_728 }, (_, index) => {
              random = (random * 48_271) % 2_147_483_647;
              return [each, startS + (from + index) * 5, random / 1_000];
            }),
          );
        }
      await engine.clock.advance(DAY_S * 1_000);
      await engine.engine.keepHouse();
      const { fileBytes } = engine.engine.status();
      assert.ok(fileBytes <= sizeMaxBytes, `${fileBytes} bytes after day ${day}`);
    }
    const { degraded, forecastDays } = engine.engine.status();
    assert.equal(degraded, undefined);
    assert.ok(forecastDays !== undefined);
    const [first] = series as [TestSeries];
    const oldest = countRows(engine, first, 5, TODAY_S, TODAY_S + DAY_S);
    assert.ok(oldest <= 1_440, 'of the oldest only minutes are left, if anything');
    assert.equal(
      countRows(engine, first, 5, TODAY_S + 11 * DAY_S, TODAY_S + 12 * DAY_S),
      17_280,
      'the newest is not',
    );
  });

  test('shrinks when much of it is free', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    let random = 1;
    for (let day = 0; day < 20; day++)
      for (let from = 0; from < 17_280; from += 1_728)
        engine.write(
          Array.from({ length: 1_728 }, (_, index) => {
            random = (random * 48_271) % 2_147_483_647;
            return [series, TODAY_S - day * DAY_S + (from + index) * 5, random / 1_000];
          }),
        );
    await keepHouse(engine, 1);
    const before = engine.engine.status().fileBytes;
    engine.drop(series);
    await keepHouse(engine);
    const { fileBytes, usedBytes } = engine.engine.status();
    assert.ok(fileBytes < before / 2, `${before} → ${fileBytes}`);
    assert.ok(fileBytes - usedBytes <= 1_048_576);
  });
});

describe('a full disk', () => {
  test('is reported, loses nothing, and heals itself when there is room', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), limits: { openSamples: 100 } });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    engine.store.limitSize(engine.engine.status().fileBytes);
    const values = Array.from({ length: 2_880 }, (_, index) => Math.sin(index) * 1e-3);
    engine.write(values.map((value, index) => [series, TODAY_S + index * 30, value]));
    await engine.engine.keepHouse();
    assert.match(engine.engine.status().degraded ?? '', /full/);
    assert.equal(countRows(engine, series, 30, TODAY_S, TODAY_S + DAY_S), 2_880);
    engine.store.limitSize(64 * 1_048_576);
    await engine.engine.keepHouse();
    assert.equal(engine.engine.status().degraded, undefined);
    engine.restart();
    assert.equal(countRows(engine, series, 30, TODAY_S, TODAY_S + DAY_S), 2_880);
  });
});

describe('the policy of the options', () => {
  test('takes days of single attributes from a list', () => {
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
