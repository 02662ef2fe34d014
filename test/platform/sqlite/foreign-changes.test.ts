/** `Database.foreignVersion` shows whether another connection has changed the database. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { type Database, openDatabase } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { PROJECT_ROOT, recordingLog, temporaryFolder } from '../../support/workspace.ts';

interface World {
  path: string;
  open: () => Database;
}

function world(t: TestContext): World {
  const folder = temporaryFolder(t);
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(join(migrationsDir, '0001_item.sql'), 'CREATE TABLE item (text TEXT) STRICT;');
  const path = join(folder, 'state.db');
  const clock = new TestClock();
  const open = (): Database => {
    const database = openDatabase({ path, migrationsDir, clock, log: recordingLog(clock).log });
    t.after(() => database.close());
    return database;
  };
  return { path, open };
}

function change(database: Database): void {
  database.prepare("INSERT INTO item VALUES ('a')").run();
}

/** By a program of its own, as the local command is. */
function changeElsewhere(path: string): void {
  const program = `
    import BetterSqlite3 from 'better-sqlite3';
    const handle = new BetterSqlite3(process.argv[1]);
    handle.exec("INSERT INTO item VALUES ('b')");
    handle.close();`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', program, path], { cwd: PROJECT_ROOT });
}

describe('foreign version', () => {
  test('the version changes with every commit of another connection, and with none of its own', (t) => {
    const { open } = world(t);
    const [own, other] = [open(), open()];
    const seen = new Set([own.foreignVersion()]);
    for (let round = 1; round <= 20; round++) {
      change(own);
      own.transaction(() => change(own));
      own.foreignVersion();
      assert.ok(seen.has(own.foreignVersion()), `own change ${round}`);
      change(other);
      assert.ok(!seen.has(own.foreignVersion()), `other change ${round}`);
      seen.add(own.foreignVersion());
      if (round % 5 === 0) other.checkpoint();
    }
  });

  test('the version changes with a commit of another process, also after the log was reset', (t) => {
    const { path, open } = world(t);
    const own = open();
    let version = own.foreignVersion();
    for (let round = 1; round <= 3; round++) {
      changeElsewhere(path);
      assert.notEqual(own.foreignVersion(), version, `change ${round}`);
      version = own.foreignVersion();
      own.prepare('PRAGMA wal_checkpoint(RESTART)').all();
      assert.equal(own.foreignVersion(), version, `log ${round}`);
    }
  });
});
