/** Who asks whether another connection has changed the database. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
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

/** Kinds of the locks that this process has on a file (proc_locks(5)). */
function locksOn(path: string): string[] {
  const { ino } = statSync(path);
  const lines = readFileSync('/proc/locks', 'utf8').split('\n');
  const own = lines.filter((line) => line.includes(` ${process.pid} `) && line.includes(`:${ino} `));
  return own.map((line) => line.replace(/^\d+: /, '')).sort();
}

function openDescriptors(path: string): number {
  const descriptors = readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)];
    } catch (error) {
      // The folder's own descriptor is gone by now.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  });
  return descriptors.filter((target) => target.startsWith(path)).length;
}

describe('the version that others make', () => {
  test('is told also while the index cannot be read as a file, and afterwards', (t) => {
    const { path, open } = world(t);
    const [own, other] = [open(), open()];
    renameSync(`${path}-shm`, `${path}-away`);
    const before = own.foreignVersion();
    change(other);
    const after = own.foreignVersion();
    assert.notEqual(after, before);
    renameSync(`${path}-away`, `${path}-shm`);
    assert.equal(own.foreignVersion(), after);
    change(other);
    assert.notEqual(own.foreignVersion(), after);
  });

  test('stays with what this connection changes, and differs after every change of another one', (t) => {
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

  test('differs after a change of another process, also once the log was begun anew', (t) => {
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

  test('is asked for without a lock that SQLite holds being dropped when a connection of the process closes', (t) => {
    const { path, open } = world(t);
    const [first, second] = [open(), open()];
    first.foreignVersion();
    const before = second.foreignVersion();
    const index = `${path}-shm`;
    const locks = locksOn(index);
    assert.ok(locks.length > 0);
    first.close();
    assert.deepEqual(locksOn(index), locks);
    changeElsewhere(path);
    assert.notEqual(second.foreignVersion(), before);
    assert.deepEqual(second.prepare('SELECT text FROM item').all(), [{ text: 'b' }]);
  });

  test('leaves no descriptor behind with the last connection', (t) => {
    const { path, open } = world(t);
    const database = open();
    database.foreignVersion();
    assert.ok(openDescriptors(`${path}-shm`) > 0);
    database.close();
    assert.equal(openDescriptors(path), 0);
  });
});
