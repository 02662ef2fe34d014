/** A disk that fails for a moment: what is acknowledged afterwards does not stand behind what was lost meanwhile. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { createDataDisk, missingForDisks } from '../../scripts/checks/faults/disk.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { type Database, openDatabase } from '../../src/platform/sqlite/index.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../support/workspace.ts';

const missing = missingForDisks();
const withoutDisk = missing.length > 0 && `missing: ${missing.join(', ')}`;
/** The disk may die for good instead: then nothing is acknowledged, and another one is tried. */
const DISKS_MAX = 12;
const LAZY_ROWS = 400;

function connect(folder: string, migrationsDir: string, isFirst = false): Database {
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  return openDatabase({ path: join(folder, 'a.db'), migrationsDir, clock, log, isFirst });
}

function insert(database: Database, text: string, count = 1): void {
  const statement = database.prepare<[string]>('INSERT INTO item VALUES (?)');
  database.transaction(() => {
    for (let row = 0; row < count; row++) statement.run(text);
  });
}

/** What is found after a cut of power; undefined: after the failure the disk took nothing any more. */
function rowsAfterFailureAndCut(
  t: TestContext,
  { seed, isStartedAnew }: { seed: number; isStartedAnew: boolean },
): { acknowledged: number; lazy: number } | undefined {
  const base = temporaryFolder(t);
  const [folder, migrations] = [join(base, 'data'), join(base, 'migrations')];
  mkdirSync(migrations);
  writeFileSync(join(migrations, '0001_item.sql'), 'CREATE TABLE item (text TEXT) STRICT;');
  const disk = createDataDisk(base, folder);
  try {
    const [durable, lazy] = [connect(folder, migrations), connect(folder, migrations)];
    insert(durable, 'before');
    disk.settle();
    // Somebody else's sync is to cover it, as that of the logs does for telemetry.
    lazy.prepare('PRAGMA synchronous = NORMAL').run();
    disk.breakMedium();
    insert(lazy, 'lazy'.repeat(500), LAZY_ROWS);
    assert.throws(() => insert(durable, 'refused'), { code: 'unavailable' });
    disk.freeMedium();
    // Connections of a program that is gone: nobody closes them before the power goes.
    const later = isStartedAnew ? connect(folder, migrations, true) : durable;
    try {
      insert(later, 'acknowledged');
    } catch {
      return undefined;
    }
    const left = disk.cutPower(createRandom(seed));
    for (const each of new Set([later, durable, lazy])) each.close();
    left.apply();
    const found = new BetterSqlite3(join(folder, 'a.db'));
    const count = (like: string): number =>
      found.prepare<[string], number>('SELECT count(*) FROM item WHERE text LIKE ?').pluck().get(like) ?? 0;
    const rows = { acknowledged: count('acknowledged'), lazy: count('lazy%') };
    found.close();
    return rows;
  } finally {
    disk.remove();
  }
}

for (const isStartedAnew of [false, true])
  test(
    `data synced after a failure${isStartedAnew ? ', by a program that was started anew,' : ''} survives a power cut, and so does what others had written before`,
    { skip: withoutDisk },
    (t) => {
      for (let seed = 0; seed < DISKS_MAX; seed++) {
        const rows = rowsAfterFailureAndCut(t, { seed, isStartedAnew });
        if (!rows) continue;
        assert.deepEqual(rows, { acknowledged: 1, lazy: LAZY_ROWS });
        return;
      }
      assert.fail(`none of ${DISKS_MAX} disks took anything after the failure`);
    },
  );
