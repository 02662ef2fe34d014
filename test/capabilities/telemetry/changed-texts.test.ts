/** Long texts on their way to who carries changes elsewhere: no more of them at once than memory has room for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ChangePosition } from '../../../src/telemetry-store/engine/change-position.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { DAY_S, maintain, startEngine, TODAY_S } from '../../telemetry-store/engine-support.ts';

const COUNT = 300;
const SAMPLES_MAX = 1_000;
const textOf = (index: number): string => `${index} `.padEnd(10_000, 'x');

test('changes bring a bounded amount of text at once, and only their own', async (t) => {
  const engine = startEngine({ folder: temporaryFolder(t) });
  t.after(() => engine.close());
  const series = engine.addSeries('string');
  engine.engine.changes.keep(0);
  const fromS = TODAY_S - 3 * DAY_S;
  for (let index = 0; index < COUNT; index++) engine.write([[series, fromS + index, textOf(index)]]);
  // As they came, and as a block of their day.
  for (const settle of [async () => undefined, () => maintain(engine, 1)]) {
    await settle();
    engine.restart();
    const arrived: string[] = [];
    for (let after: ChangePosition = { sequence: 0 }; arrived.length < COUNT;) {
      const { series: read, position } = engine.engine.changes.read({
        after,
        sinceS: 0,
        samplesMax: SAMPLES_MAX,
      });
      after = position;
      const [changed] = read;
      assert.ok(changed && changed.times.length > 1 && changed.times.length < 50, `${changed?.times.length}`);
      assert.equal(changed.texts.length, changed.times.length);
      for (const code of changed.numbers) arrived.push(changed.texts[code] as string);
    }
    assert.deepEqual(
      arrived,
      Array.from({ length: COUNT }, (_, index) => textOf(index)),
    );
  }
});
