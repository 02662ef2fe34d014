/** What the history may forget: what a person deleted, and what nobody knew for weeks. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { DepartedDevices } from '../../../src/capabilities/devices/departed.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const HOUR_MS = 3_600_000;

function bench(t: TestContext) {
  const clock = new TestClock();
  const database = openMigrated('state', {
    path: join(temporaryFolder(t), 'state.db'),
    clock,
    log: recordingLog(clock).log,
  });
  t.after(() => database.close());
  const limits = { ...LIMITS.devices, unknownKeptHours: 3, deletionsKept: 2 };
  return { clock, start: () => new DepartedDevices({ database, clock, limits }) };
}

describe('the history of a device that is not known', () => {
  test('the history of an unknown device is kept for hours of running time, over restarts, however far the clock jumps', async (t) => {
    const { clock, start } = bench(t);
    let departed = start();
    assert.equal(departed.mayForget('a'), false);
    await clock.advance(2 * HOUR_MS);
    assert.equal(departed.mayForget('a'), false);
    clock.step(10 * 365 * 24 * HOUR_MS);
    departed = start();
    assert.equal(departed.mayForget('a'), false);
    await clock.advance(HOUR_MS);
    assert.equal(departed.mayForget('a'), true);
  });

  test('the history of an unknown device has its whole time again after the device was known', async (t) => {
    const { clock, start } = bench(t);
    const departed = start();
    departed.mayForget('a');
    await clock.advance(2 * HOUR_MS);
    departed.mayForget('a');
    departed.returned('a');
    assert.equal(departed.mayForget('a'), false);
    await clock.advance(2 * HOUR_MS);
    assert.equal(departed.mayForget('a'), false);
  });

  test('the history of a device that a person deleted goes, also after a restart, for a bounded number of deletions', (t) => {
    const { start } = bench(t);
    for (const id of ['a', 'b', 'c']) start().recordDeletion(id);
    const departed = start();
    assert.deepEqual(
      ['a', 'b', 'c'].filter((id) => departed.mayForget(id)),
      ['b', 'c'],
    );
  });
});
