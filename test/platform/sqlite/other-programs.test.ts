/** A program such as the local command opens and closes a database that this process has open. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { type Database, openDatabase } from '../../../src/platform/sqlite/index.ts';
import { runUpkeep } from '../../../src/platform/sqlite/upkeep-tasks.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const OPEN_AND_CLOSE = `
  const database = new (require('better-sqlite3'))(process.argv[1]);
  console.log(database.pragma('user_version', { simple: true }));
  database.close();`;

function opened(t: TestContext): { path: string; database: Database } {
  const folder = temporaryFolder(t);
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(join(migrationsDir, '0001_first.sql'), 'CREATE TABLE person (name TEXT NOT NULL) STRICT;');
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const path = join(folder, 'state.db');
  const options = { path, migrationsDir, clock, log, isFirst: true, onLost: () => assert.fail('lost') };
  openDatabase(options).close();
  const database = openDatabase(options);
  t.after(() => database.close());
  database.prepare("INSERT INTO person VALUES ('Ada')").run();
  return { path, database };
}

/** Files of the database on which this process holds a lock, as the kernel lists them (proc_locks(5)). */
function lockedFiles(path: string): string[] {
  const own = readFileSync('/proc/locks', 'utf8')
    .split('\n')
    .map((line) => line.split(/ +/))
    .filter((fields) => fields.includes(String(process.pid)));
  return ['', '-shm'].filter((suffix) => {
    const { ino } = statSync(path + suffix);
    return own.some((fields) => fields.some((field) => field.endsWith(`:${ino}`)));
  });
}

/** A program that finds no lock takes itself to be alone: it begins the log and its index anew, or removes them. */
function leavesLogAlone({ path, database }: { path: string; database: Database }): void {
  assert.deepEqual(lockedFiles(path), ['', '-shm']);
  const inode = statSync(`${path}-wal`).ino;
  const other = spawnSync(process.execPath, ['-e', OPEN_AND_CLOSE, path], { encoding: 'utf8' });
  assert.equal(other.stdout, '1\n', other.stderr);
  assert.equal(statSync(`${path}-wal`).ino, inode);
  assert.equal(database.prepare<[], string>('SELECT name FROM person').all().length, 1);
}

describe('another program that opens and closes the database leaves its log to this process', () => {
  test('another program that opens and closes the database leaves its log to this process after the start', (t) => {
    leavesLogAlone(opened(t));
  });

  test('another program that opens and closes the database leaves its log to this process after upkeep has judged a suspicion of damage', (t) => {
    const one = opened(t);
    assert.deepEqual(runUpkeep({ kind: 'judge', path: one.path, descriptor: one.database.descriptor }), {
      damage: undefined,
    });
    leavesLogAlone(one);
  });
});
