/** Reading what came after a position: everything at least once, whatever the store does meanwhile. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { asyncProperty, assert as assertProperty, array, constantFrom, nat, tuple } from 'fast-check';
import { type ChangePosition, neededAfter } from '../../src/telemetry-store/engine/change-position.ts';
import type { Changes } from '../../src/telemetry-store/engine/changes.ts';
import { decodeChanges, encodeChanges } from '../../src/telemetry-store/codec/change-directory.ts';
import type { StoredValue } from '../../src/telemetry-store/codec/series.ts';
import { temporaryFolder } from '../support/workspace.ts';
import { runs } from '../support/runs.ts';
import { DAY_S, maintain, startEngine, type TestEngine, type TestSeries, TODAY_S } from './engine-support.ts';

/** Somebody who carries changes elsewhere, and what arrived there. */
class Follower {
  position: ChangePosition = { sequence: 0 };
  readonly arrived = new Map<string, Map<number, StoredValue>>();
  /** Seconds in the order of their arrival, repeated ones too. */
  readonly seconds: number[] = [];
  lostSamples = 0;
  readonly #engine: TestEngine;
  readonly #isNewestFirst: boolean;

  constructor(engine: TestEngine, { isNewestFirst = false } = {}) {
    this.#engine = engine;
    this.#isNewestFirst = isNewestFirst;
  }

  keep(): void {
    this.#engine.engine.changes.keep(neededAfter(this.position));
  }

  /** One step; true while something came or the position moved. */
  step(samplesMax: number): boolean {
    const before = JSON.stringify(this.position);
    const changes = this.#engine.engine.changes.read({
      after: this.position,
      sinceS: 0,
      samplesMax,
      isNewestFirst: this.#isNewestFirst,
    });
    for (const series of changes.series) this.#take(series);
    this.position = changes.position;
    this.lostSamples += changes.lostSamples;
    this.keep();
    return JSON.stringify(this.position) !== before;
  }

  follow(samplesMax = 50): void {
    while (this.step(samplesMax));
  }

  #take({ attribute, type, times, numbers, integers, texts }: Changes['series'][number]): void {
    const values = this.arrived.get(attribute) ?? new Map<number, StoredValue>();
    this.arrived.set(attribute, values);
    this.seconds.push(...times);
    for (const [index, timestampS] of times.entries()) {
      const number = numbers[index] as number;
      if (type === 'string') values.set(timestampS, texts[number] as string);
      else if (type === 'boolean') values.set(timestampS, number === 1);
      else
        values.set(
          timestampS,
          integers && !Number.isSafeInteger(number) ? (integers[index] as bigint) : number,
        );
    }
  }

  hasAll(): void {
    for (const { series, samples } of this.#engine.series)
      assert.deepEqual(
        [...(this.arrived.get(series.attribute) ?? [])].sort(([a], [b]) => a - b),
        [...samples].sort(([a], [b]) => a - b),
        series.attribute,
      );
  }
}

function started(t: TestContext, options: Partial<Parameters<typeof startEngine>[0]> = {}): TestEngine {
  const engine = startEngine({ folder: temporaryFolder(t), ...options });
  t.after(() => engine.close());
  return engine;
}

const rising = (series: TestSeries, fromS: number, count: number): [TestSeries, number, StoredValue][] =>
  Array.from({ length: count }, (_, index) => [series, fromS + index, index / 10]);

describe('changes of the telemetry store', () => {
  test('changes of the telemetry store are those of the journal while they are fresh, and are not sent again', (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.engine.changes.keep(0);
    const { position } = engine.engine.changes.read({ after: undefined, sinceS: 0, samplesMax: 10 });
    engine.write(rising(series, TODAY_S, 3));
    const first = engine.engine.changes.read({ after: position, sinceS: 0, samplesMax: 10 });
    assert.deepEqual([...(first.series[0]?.numbers ?? [])], [0, 0.1, 0.2]);
    const second = engine.engine.changes.read({ after: first.position, sinceS: 0, samplesMax: 10 });
    assert.deepEqual([second.series, second.pendingSamples], [[], 0]);
  });

  test('changes of the telemetry store include how many samples wait, and since when', async (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.engine.changes.keep(0);
    const sinceS = Math.floor(engine.clock.wallMs() / 1_000);
    engine.write(rising(series, TODAY_S, 20));
    await engine.clock.advance(10_000);
    await engine.engine.seal();
    engine.write(rising(series, TODAY_S + 100, 5));
    const { pendingSamples, pendingSinceS } = engine.engine.changes.read({
      after: { sequence: 0 },
      sinceS: 0,
      samplesMax: 0,
    });
    assert.deepEqual({ pendingSamples, pendingSinceS }, { pendingSamples: 25, pendingSinceS: sinceS });
  });

  test('changes of the telemetry store wait since their last sample was measured after a restart, which the journal alone tells', async (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.engine.changes.keep(0);
    const measuredS = Math.floor(engine.clock.wallMs() / 1_000);
    engine.write(rising(series, measuredS, 1));
    await engine.clock.advance(1_020_000);
    engine.restart();
    const after = { sequence: 0 };
    const { pendingSinceS } = engine.engine.changes.read({ after, sinceS: 0, samplesMax: 0 });
    assert.equal(pendingSinceS, measuredS);
  });

  test('changes of the telemetry store hold late and imported samples of days that were compacted long ago', async (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    const follower = new Follower(engine);
    follower.keep();
    engine.write(rising(series, TODAY_S - 3 * DAY_S, 500));
    await maintain(engine, 1);
    follower.follow();
    engine.write(rising(series, TODAY_S - 3 * DAY_S + 100_000, 50));
    await maintain(engine, 1);
    await engine.engine.seal();
    engine.restart();
    follower.follow();
    follower.hasAll();
  });

  test('changes of the telemetry store begin with the whole store for who has nothing, from a time on', async (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.write(rising(series, TODAY_S - 2 * DAY_S, 100));
    engine.write(rising(series, TODAY_S, 100));
    await maintain(engine, 1);
    engine.engine.changes.keep(0);
    const { series: found } = engine.engine.changes.read({
      after: { sequence: 0 },
      sinceS: TODAY_S + 50,
      samplesMax: 1_000,
    });
    assert.deepEqual(
      found.map(({ times }) => [times[0], times.length]),
      [[TODAY_S + 50, 50]],
    );
  });

  test('changes of the telemetry store begin anew when the position is of another history', (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.engine.changes.keep(0);
    engine.write(rising(series, TODAY_S, 10));
    const { series: found, position } = engine.engine.changes.read({
      after: { sequence: 99_999 },
      sinceS: 0,
      samplesMax: 100,
    });
    assert.equal(found[0]?.times.length, 10);
    assert.equal(position.sequence, 1);
  });

  test('changes of the telemetry store count what retention took before it was read', async (t) => {
    const engine = started(t, { policy: { sampleDays: 2 }, limits: { changeRecentBytes: 0 } });
    const series = engine.addSeries('float');
    const follower = new Follower(engine);
    follower.keep();
    engine.write(rising(series, TODAY_S, 400));
    await maintain(engine, 5);
    // Records are at hand until the next one that is understood alone.
    for (let second = 0; second < 7; second++) engine.write([[series, TODAY_S + 5 * DAY_S + second, second]]);
    await engine.engine.seal();
    follower.follow();
    assert.equal(follower.lostSamples, 400);
    assert.equal(follower.arrived.get('a1')?.size, 7);
  });

  test('changes of the telemetry store skip a deleted device, and do not count it as missed', async (t) => {
    const engine = started(t);
    const [gone, kept] = [engine.addSeries('float'), engine.addSeries('float')];
    const follower = new Follower(engine);
    follower.keep();
    engine.write([...rising(gone, TODAY_S, 30), ...rising(kept, TODAY_S, 30)]);
    await engine.engine.seal();
    engine.drop(gone);
    follower.follow();
    assert.equal(follower.lostSamples, 0);
    follower.hasAll();
  });

  test('changes of the telemetry store stay within their bound however long nobody reads: neighbours become one', async (t) => {
    const engine = started(t, { limits: { changeEntries: 8 } });
    const series = engine.addSeries('float');
    const follower = new Follower(engine);
    follower.keep();
    for (let round = 0; round < 40; round++) {
      engine.write(rising(series, TODAY_S + round * 10_000, 5));
      await engine.engine.seal();
    }
    assert.ok(engine.store.changeCount() <= 8, String(engine.store.changeCount()));
    follower.follow(3);
    follower.hasAll();
    assert.equal(follower.lostSamples, 0);
    assert.equal(engine.store.changeCount(), 0);
  });

  test('changes of the telemetry store are read from the store by a reader behind dropped records', async (t) => {
    const engine = started(t, { limits: { changeRecentBytes: 200 } });
    const series = engine.addSeries('float');
    const follower = new Follower(engine);
    follower.keep();
    for (const second of [0, 1]) engine.write(rising(series, TODAY_S + second, 1));
    follower.step(1);
    // Each is a record, and the oldest ones have no room any more.
    for (let second = 2; second < 20; second++) engine.write(rising(series, TODAY_S + second, 1));
    await engine.engine.seal();
    follower.follow();
    follower.hasAll();
  });

  test('changes of the telemetry store are read of their own part of a day, and of no other one', async (t) => {
    const engine = started(t, { limits: { changeRecentBytes: 0 } });
    const series = engine.addSeries('float');
    engine.engine.changes.keep(0);
    for (let round = 0; round < 12; round++) {
      engine.write(rising(series, TODAY_S + round * 1_000, 20));
      await engine.engine.seal();
    }
    engine.database.prepare("UPDATE telemetry_part SET data = x'00' WHERE id <> 3").run();
    const { series: found } = engine.engine.changes.read({
      after: { sequence: 2 },
      sinceS: 0,
      samplesMax: 20,
    });
    assert.deepEqual(
      found.map(({ times }) => [times[0], times.length]),
      [[TODAY_S + 2_000, 20]],
    );
    assert.equal(engine.engine.status().damaged, 0);
  });

  test('changes of the telemetry store are not kept when nobody reads them', async (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.write(rising(series, TODAY_S, 5));
    await engine.engine.seal();
    assert.equal(engine.store.changeCount(), 0);
    engine.engine.changes.keep(0);
    engine.write(rising(series, TODAY_S + 10, 5));
    await engine.engine.seal();
    assert.equal(engine.store.changeCount(), 1);
    engine.engine.changes.keep(undefined);
    assert.equal(engine.store.changeCount(), 0);
  });

  for (const [title, isNewestFirst] of [
    ['of the oldest first', false],
    ['of the newest first', true],
  ] as const)
    test(`changes of the telemetry store reach a reader ${title} that comes and goes whole, through sealing, compaction and kills`, async (t) => {
      const step = tuple(
        constantFrom('write', 'late', 'seal', 'house', 'restart', 'read', 'killed'),
        nat(400),
        nat(60),
      );
      await assertProperty(
        asyncProperty(array(step, { maxLength: 40 }), async (steps) => {
          const limits = {
            changeEntries: 6,
            changeRecentBytes: 200,
            changeBacklogSamples: 40,
            changeOwedRanges: 2,
          };
          const engine = started(t, { limits });
          const series = (['float', 'integer', 'boolean', 'string'] as const).map((type) =>
            engine.addSeries(type),
          );
          const follower = new Follower(engine, { isNewestFirst });
          follower.keep();
          let nowS = TODAY_S;
          for (const [what, a, b] of steps) {
            const which = series[a % series.length] as TestSeries;
            const value = ({ float: b / 10, integer: b, boolean: b % 2 === 1, string: `t${b}` } as const)[
              which.series.type as 'float'
            ];
            if (what === 'write')
              engine.write(
                Array.from({ length: b + 1 }, () => [which, nowS++, value] as const).map((s) => [...s]),
              );
            else if (what === 'late') engine.write([[which, TODAY_S - a * 1_000, value]]);
            else if (what === 'seal') await engine.engine.seal();
            else if (what === 'house') await maintain(engine, a % 2);
            else if (what === 'restart') engine.restart();
            else if (what === 'killed') await engine.killed(a % 8, () => engine.engine.seal());
            else follower.step(a + 1);
          }
          follower.follow(17);
          follower.hasAll();
        }),
        { numRuns: runs(20) },
      );
    });
});

describe('a reader of the newest first', () => {
  const LIMITS_OF_SOME = { changeBacklogSamples: 10 };

  /** Five sealings and ten records that are not sealed; each second is a sample of its own. */
  async function away(engine: TestEngine, series: TestSeries, fromS: number): Promise<number> {
    let nowS = fromS;
    for (let sealing = 0; sealing < 5; sealing++, nowS += 30) {
      engine.write(rising(series, nowS, 30));
      await engine.engine.seal();
    }
    for (let record = 0; record < 10; record++, nowS += 5) engine.write(rising(series, nowS, 5));
    return nowS;
  }

  test('a reader of the newest first has what comes now at once, and what was missed behind it, each once, from the newest block to the oldest', async (t) => {
    const engine = started(t, { limits: LIMITS_OF_SOME });
    const series = engine.addSeries('float');
    const follower = new Follower(engine, { isNewestFirst: true });
    follower.keep();
    const missedTo = await away(engine, series, TODAY_S);
    follower.step(1);
    engine.write(rising(series, missedTo + 1_000, 3));
    engine.restart();
    follower.seconds.length = 0;
    while (follower.step(7)) if (follower.seconds.length > 100) engine.restart();
    follower.hasAll();
    assert.deepEqual(
      follower.seconds.slice(0, 3),
      [0, 1, 2].map((second) => missedTo + 1_000 + second),
    );
    const sealed = follower.seconds.filter((second) => second < TODAY_S + 150);
    const blocks = sealed.map((second) => Math.floor((second - TODAY_S) / 30));
    assert.deepEqual([...new Set(blocks)], [4, 3, 2, 1, 0]);
    assert.equal(new Set(follower.seconds).size, follower.seconds.length);
  });

  test('a reader of the newest first has what was missed in several outages, and remembers few of them', async (t) => {
    const engine = started(t, { limits: { ...LIMITS_OF_SOME, changeOwedRanges: 3 } });
    const series = engine.addSeries('float');
    const follower = new Follower(engine, { isNewestFirst: true });
    follower.keep();
    for (let outage = 0; outage < 8; outage++) {
      await away(engine, series, TODAY_S + outage * 1_000);
      follower.step(5);
      assert.ok((follower.position.owed ?? []).length <= 4, JSON.stringify(follower.position));
    }
    follower.follow(9);
    follower.hasAll();
    assert.equal(follower.lostSamples, 0);
    assert.equal(engine.store.changeCount(), 0);
    assert.equal(follower.position.owed, undefined);
  });

  test('a reader of the newest first has what comes now before the whole store, too', async (t) => {
    const engine = started(t);
    const series = engine.addSeries('float');
    engine.write(rising(series, TODAY_S - 2 * DAY_S, 100));
    await maintain(engine, 1);
    const follower = new Follower(engine, { isNewestFirst: true });
    follower.keep();
    follower.step(10);
    engine.write(rising(series, TODAY_S, 3));
    follower.step(10);
    assert.deepEqual(follower.seconds.slice(10, 13), [TODAY_S, TODAY_S + 1, TODAY_S + 2]);
    follower.follow(9);
    follower.hasAll();
  });
});

describe('the directory of changes', () => {
  test('the directory of changes comes back as it was written', () => {
    const stretches = [
      { seriesId: 1, firstS: 5, lastS: 9, count: 4 },
      { seriesId: 700, firstS: 1_700_000_000, lastS: 1_700_086_399, count: 86_400 },
    ];
    assert.deepEqual(decodeChanges(encodeChanges(stretches)), stretches);
  });
});
