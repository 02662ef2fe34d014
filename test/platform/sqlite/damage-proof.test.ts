/** SQLite calls a page that the disk did not return once damage: only what is found again costs a file its place. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { DegradableDatabase } from '../../../src/platform/sqlite/index.ts';
import { runUpkeep } from '../../../src/platform/sqlite/upkeep-tasks.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const OWNER = { id: 'a', read: () => 'a', write: () => undefined };

function opened(t: TestContext) {
  const folder = temporaryFolder(t);
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(
    join(migrationsDir, '0001_first.sql'),
    'CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT; CREATE INDEX by_text ON entry (text);',
  );
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'history.db');
  const found: (string | undefined)[] = [];
  const database = new DegradableDatabase({
    path,
    migrationsDir,
    salvageLater: [],
    companions: [],
    proveDamage: async (asked) => {
      const { damage } = runUpkeep({ kind: 'prove', path: asked });
      found.push(damage);
      return damage;
    },
    clock,
    log,
  });
  t.after(() => database.close());
  database.open(OWNER);
  database.prepare<[string]>('INSERT INTO entry (text) VALUES (?)').run('kept');
  return {
    clock,
    database,
    found,
    lines,
    path,
    /** SQLite reports damage; resolves when all is done about it. Returns how many files are set aside. */
    meet: async (): Promise<number> => {
      database.report(new BetterSqlite3.SqliteError('database disk image is malformed', 'SQLITE_CORRUPT'));
      assert.notEqual(database.failure, undefined);
      await until(() => database.failure === undefined && !database.isSalvaging);
      assert.deepEqual(database.prepare('SELECT text FROM entry').pluck().all(), ['kept']);
      return database.setAsideNames().damaged.length;
    },
  };
}

test('a database that the disk did not return once stays, and its users stay with it', async (t) => {
  const { database, found, lines, meet } = opened(t);
  const told: string[] = [];
  database.join({
    opened: () => told.push('opened'),
    release: () => Promise.resolve(void told.push('release')),
  });
  assert.equal(await meet(), 0);
  assert.deepEqual([found, told], [[undefined], ['opened', 'opened']]);
  assert.ok(lines.some(({ message }) => message.endsWith('no damage is found')));
});

test('a database of which damage is met again and again, and none found, is set aside after all', async (t) => {
  const { clock, meet } = opened(t);
  for (let time = 0; time < 6; time++) {
    assert.equal(await meet(), 0);
    await clock.advance(120_000);
  }
  for (let time = 0; time < 5; time++) await meet();
  // The new file is doubted as the first one was.
  assert.equal(await meet(), 1);
});

test('a database is set aside for damage of an index, which reading all rows does not meet', async (t) => {
  const { database, found, meet, path } = opened(t);
  const other = new BetterSqlite3(path);
  other.unsafeMode();
  other.pragma('writable_schema = ON');
  other.exec("UPDATE sqlite_schema SET sql = 'CREATE INDEX by_text ON entry (id)' WHERE name = 'by_text'");
  other.close();
  database.prepare('SELECT count(*) FROM entry').get();
  assert.equal(await meet(), 1);
  assert.match(found[0] ?? '', /by_text/);
});
