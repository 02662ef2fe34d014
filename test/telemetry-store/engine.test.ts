import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StoredValue } from '../../src/telemetry-store/codec/series.ts';
import { temporaryFolder } from '../support/workspace.ts';
import {
  countRows,
  DAY_S,
  maintain,
  modelRows,
  rowsOf,
  startEngine,
  type TestEngine,
  type TestSeries,
  TODAY_S,
  writeDay,
} from './engine-support.ts';

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
    test(`a damaged block loses that block only, is reported and skipped: ${what}`, async (t) => {
      const engine = startEngine({ folder: temporaryFolder(t) });
      t.after(() => engine.close());
      const series = engine.addSeries('float');
      for (const day of [3, 2, 1]) writeDay(engine, series, TODAY_S - day * DAY_S);
      await maintain(engine);
      engine.database.prepare<[number]>(sql).run(TODAY_S / DAY_S - 2);
      const rows = (fromDay: number): number =>
        countRows(engine, series, 60, TODAY_S - fromDay * DAY_S, TODAY_S - (fromDay - 1) * DAY_S);
      assert.deepEqual([rows(3), rows(2), rows(1)], [1_440, 96, 1_440], 'roll-ups stand in');
      assert.equal(engine.engine.status().damaged, 1);
      assert.match(engine.lines.at(-1)?.message ?? '', /damaged and was skipped/);
    });

  test('a damaged part of today loses its samples only', async (t) => {
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

  test('a damaged journal record loses the records up to the next key record', async (t) => {
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
    test(`an answer has the same messages in all its columns while further ones ${what}`, async (t) => {
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
      const seen: (Uint8Array | undefined)[] = [];
      let at = 2;
      for (const piece of pieces) {
        seen.push(piece);
        // Between two pieces the thread of the store takes in what arrives.
        message(at++);
        await meanwhile(engine);
      }
      assert.ok(at > 4, 'there were pauses');
      assert.deepEqual(rowsOf(seen), [`${TODAY_S},0,text 0,0`, `${TODAY_S + 1},1,text 1,1`]);
    });

  test('an answer is complete during a sealing, after an aborted one, and afterwards', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const types = ['float', 'integer', 'boolean', 'string'] as const;
    const series = types.map((type) => engine.addSeries(type));
    let at = 0;
    const message = (offsetS: number): void => {
      const values = [at / 4, 2n ** 60n + BigInt(at), at % 3 === 0, `text ${at % 5}`];
      engine.write(series.map((each, index) => [each, TODAY_S + offsetS, values[index] as StoredValue]));
      at++;
    };
    const wishes = series.map((of) => ({ of, aggregation: 'last' as const }));
    const range = { fromS: TODAY_S - DAY_S, toS: TODAY_S + 4_000, granularityS: 1 };
    const isWhole = (): void => {
      const rows = modelRows(range, wishes).map((row) => row.map(String));
      assert.deepEqual(
        engine.rows(range, wishes).map((row) => row.split(',')),
        rows,
      );
    };
    // Two days of messages, some late and some twice.
    for (let index = -1_000; index < 1_000; index++) message(index % 7 === 0 ? index - 20 : index);
    let pauses = 0;
    engine.atPause = () => {
      pauses++;
      isWhole();
      message(1_500 + pauses);
      isWhole();
      if (pauses === 1) throw new Error('the disk is full');
    };
    await assert.rejects(engine.engine.seal(), /the disk is full/);
    isWhole();
    await engine.engine.seal();
    engine.atPause = () => undefined;
    assert.ok(pauses > 1);
    isWhole();
    engine.restart();
    isWhole();
  });

  test('an answer has nothing of a device that is deleted while it is read', async (t) => {
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
    assert.deepEqual(rowsOf([...pieces]), []);
  });
});

describe('the size of the file', () => {
  test('the size of the file stays below its limit whatever is written, by removing the oldest', async (t) => {
    const sizeMaxBytes = 1.5 * 1_048_576;
    const limits = { openSamples: 10_000 };
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sizeMaxBytes }, limits });
    t.after(() => engine.close());
    const series = Array.from({ length: 2 }, () => engine.addSeries('float'));
    let random = 1;
    for (let day = 0; day < 12; day++) {
      const startS = TODAY_S + day * DAY_S;
      for (const each of series)
        for (let from = 0; from < 17_280; from += 1_728) {
          await engine.engine.maintain();
          engine.write(
            Array.from({ length: 1_728 }, (_, index) => {
              random = (random * 48_271) % 2_147_483_647;
              return [each, startS + (from + index) * 5, random / 1_000];
            }),
          );
        }
      await engine.clock.advance(DAY_S * 1_000);
      await engine.engine.maintain();
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

  test('the size of the file is kept by taking room from the device that has the most, within its first day too', async (t) => {
    const sizeMaxBytes = 2 * 1_048_576;
    const limits = { openSamples: 10_000 };
    const engine = startEngine({ folder: temporaryFolder(t), policy: { sizeMaxBytes }, limits });
    t.after(() => engine.close());
    const quiet = engine.addSeries('float', 'power', 'quiet');
    const loud = engine.addSeries('float', 'noise', 'loud');
    const oldS = TODAY_S - 5 * DAY_S;
    engine.write(Array.from({ length: 1_440 }, (_, index) => [quiet, oldS + index * 60, index / 10]));
    await maintain(engine);
    let random = 1;
    for (let from = 0; from < 400_000; from += 2_000) {
      engine.write(
        Array.from({ length: 2_000 }, (_, index) => {
          random = (random * 48_271) % 2_147_483_647;
          return [loud, TODAY_S + ((from + index) % DAY_S), Math.sqrt(random)];
        }),
      );
      await engine.engine.maintain();
      const { fileBytes, degraded } = engine.engine.status();
      assert.ok(fileBytes <= sizeMaxBytes, `${fileBytes} bytes`);
      assert.equal(degraded, undefined);
    }
    assert.ok(engine.engine.status().removedEarly > 0);
    assert.equal(countRows(engine, quiet, 60, oldS, oldS + DAY_S), 1_440);
    engine.restart();
    assert.equal(countRows(engine, quiet, 60, oldS, oldS + DAY_S), 1_440);
    assert.ok(countRows(engine, loud, 60, TODAY_S, TODAY_S + DAY_S) > 0, 'what came last is there');
  });

  test('the journal is sealed at its part of the room, which may become smaller', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t) });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    let random = 1;
    const noise = (index: number): [TestSeries, number, number] => {
      random = (random * 48_271) % 2_147_483_647;
      return [series, TODAY_S - 9 * DAY_S + index * 5, Math.sqrt(random)];
    };
    for (let from = 0; from < 300_000; from += 2_000) {
      if (from % 50_000 === 0) await engine.engine.seal();
      engine.write(Array.from({ length: 2_000 }, (_, index) => noise(from + index)));
    }
    assert.equal(engine.engine.isSealDue, false);
    assert.ok(engine.engine.status().fileBytes > 1_600_000);
    engine.engine.setRoom({ fileMaxBytes: 1_572_864, journalMaxBytes: 524_288 });
    assert.ok(engine.engine.isSealDue && engine.engine.isOverloaded);
    for (let round = 0; round < 3; round++) await engine.engine.maintain();
    const { openSamples, fileBytes } = engine.engine.status();
    assert.equal(openSamples, 0);
    assert.ok(fileBytes <= 1_572_864, `${fileBytes} bytes`);
    assert.equal(engine.engine.isOverloaded, false);
  });

  test('the size of the file shrinks when much of it is free', async (t) => {
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
    await maintain(engine, 1);
    const before = engine.engine.status().fileBytes;
    engine.drop(series);
    await maintain(engine);
    const { fileBytes, usedBytes } = engine.engine.status();
    assert.ok(fileBytes < before / 2, `${before} → ${fileBytes}`);
    assert.ok(fileBytes - usedBytes <= 1_048_576);
  });
});

describe('a full disk', () => {
  test('a full disk is reported, loses nothing, and heals itself when there is room', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), limits: { openSamples: 100 } });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    engine.store.limitSize(engine.engine.status().fileBytes);
    const values = Array.from({ length: 2_880 }, (_, index) => Math.sin(index) * 1e-3);
    engine.write(values.map((value, index) => [series, TODAY_S + index * 30, value]));
    await engine.engine.maintain();
    assert.match(engine.engine.status().degraded ?? '', /full/);
    assert.equal(countRows(engine, series, 30, TODAY_S, TODAY_S + DAY_S), 2_880);
    engine.store.limitSize(64 * 1_048_576);
    await engine.engine.maintain();
    assert.equal(engine.engine.status().degraded, undefined);
    engine.restart();
    assert.equal(countRows(engine, series, 30, TODAY_S, TODAY_S + DAY_S), 2_880);
  });

  test('a full disk removes no day of the history when others filled it, however often it is tried', async (t) => {
    const engine = startEngine({ folder: temporaryFolder(t), limits: { openSamples: 100 } });
    t.after(() => engine.close());
    const series = engine.addSeries('float');
    for (const day of [9, 8, 7, 6]) writeDay(engine, series, TODAY_S - day * DAY_S);
    await maintain(engine);
    const rows = (): number => countRows(engine, series, 30, TODAY_S - 9 * DAY_S, TODAY_S + DAY_S);
    // From now on nothing can be written, but days can be removed.
    engine.isDiskLow = true;
    engine.store.limitSize(engine.engine.status().fileBytes);
    engine.write(
      Array.from({ length: 2_880 }, (_, index) => [series, TODAY_S + index * 30, Math.sin(index)]),
    );
    const before = rows();
    for (let tries = 0; tries < 20; tries++) await engine.engine.maintain();
    assert.match(engine.engine.status().degraded ?? '', /full/);
    assert.equal(engine.engine.status().removedEarly, 0);
    engine.isDiskLow = false;
    engine.restart();
    await maintain(engine);
    assert.equal(engine.engine.status().degraded, undefined);
    assert.equal(rows(), before);
    assert.equal(before, 4 * 1_440 + 2_880);
  });
});
