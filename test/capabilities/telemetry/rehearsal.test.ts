/** Charts that the store draws for nobody, so that the first one that somebody asks for is quick. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import type { StoredValue } from '../../../src/telemetry-store/codec/series.ts';
import type { TelemetryType } from '../../../src/protocol/telemetry.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { DAY_S, startEngine, type TestEngine, TODAY_S } from '../../telemetry-store/engine-support.ts';

const HOUR_S = 3_600;
const AFTER_MS = 10_000;

/** Series of these types, with a sample every ten seconds, sealed up to `toS`; the day is over. */
async function startStore(t: TestContext, types: readonly TelemetryType[], toS: number): Promise<TestEngine> {
  const store = startEngine({ folder: temporaryFolder(t), wallMs: (TODAY_S + DAY_S) * 1_000 });
  t.after(() => store.close());
  for (const type of types) store.addSeries(type);
  await write(store, 0, toS);
  return store;
}

async function write(store: TestEngine, fromS: number, toS: number): Promise<void> {
  for (let second = fromS; second < toS; second += 10)
    store.write(
      store.series.map((series) => [series, TODAY_S + second, valueOf(series.series.type, second)]),
    );
  await store.engine.seal();
}

function valueOf(type: TelemetryType, second: number): StoredValue {
  if (type === 'string') return `text ${second % 90}`;
  return type === 'integer' ? second : 230.1 + (second % 70) / 10;
}

/** How many charts the next look draws. */
async function charts(t: TestContext, store: TestEngine): Promise<number> {
  const reads = t.mock.method(store.engine.source, 'asOfNow');
  await store.engine.rehearsal.run();
  reads.mock.restore();
  return reads.mock.callCount();
}

describe('a rehearsal of charts', () => {
  test('does not disturb the first ten seconds', async (t) => {
    const store = await startStore(t, ['float'], DAY_S);
    assert.equal(await charts(t, store), 0);
    store.clock.spend(AFTER_MS);
    assert.equal(await charts(t, store), 1);
  });

  test('leaves out whole numbers and text, and what is older than a day', async (t) => {
    const store = await startStore(t, ['integer', 'string', 'float'], DAY_S);
    store.clock.spend(AFTER_MS);
    assert.equal(await charts(t, store), 1);
    const old = await startStore(t, ['float'], DAY_S);
    old.clock.spend(AFTER_MS + DAY_S * 1_000);
    assert.equal(await charts(t, old), 0);
  });

  test('is over with three long charts', async (t) => {
    const store = await startStore(t, ['float', 'float', 'float', 'float'], 20 * HOUR_S);
    store.clock.spend(AFTER_MS);
    assert.equal(await charts(t, store), 3);
    await write(store, 20 * HOUR_S, 21 * HOUR_S);
    assert.equal(await charts(t, store), 0);
  });

  test('is tried again after each sealing while the day is short', async (t) => {
    const store = await startStore(t, ['float', 'float', 'float'], 2 * HOUR_S);
    store.clock.spend(AFTER_MS);
    assert.equal(await charts(t, store), 3);
    assert.equal(await charts(t, store), 0);
    await write(store, 2 * HOUR_S, 20 * HOUR_S);
    assert.equal(await charts(t, store), 3);
    await write(store, 20 * HOUR_S, 21 * HOUR_S);
    assert.equal(await charts(t, store), 0);
  });
});
