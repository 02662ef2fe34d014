/** A log outlives the closing of a database that could not be opened. Needs root, for an index that is read-only. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { closeUnopened } from '../../../src/platform/sqlite/close-unopened.ts';
import { temporaryFolder } from '../../support/workspace.ts';

/** A database as a kill leaves it: its only row stands in the log. */
function killed(t: TestContext): string {
  const folder = temporaryFolder(t);
  const [path, copy] = [join(folder, 'a.db'), join(folder, 'copy')];
  const handle = new BetterSqlite3(path);
  handle.pragma('journal_mode = WAL');
  handle.exec('CREATE TABLE item (text TEXT)');
  handle.pragma('wal_checkpoint(TRUNCATE)');
  handle.exec(`INSERT INTO item VALUES ('acknowledged')`);
  mkdirSync(copy);
  for (const suffix of ['', '-wal']) copyFileSync(path + suffix, join(copy, `a.db${suffix}`));
  handle.close();
  return join(copy, 'a.db');
}

function openRefused(path: string): BetterSqlite3.Database {
  // Refused with ELOOP, as a disk does with EIO.
  symlinkSync(`${path}-shm`, `${path}-shm`);
  const handle = new BetterSqlite3(path);
  assert.throws(() => handle.pragma('auto_vacuum = INCREMENTAL'), { code: 'SQLITE_CANTOPEN' });
  rmSync(`${path}-shm`);
  return handle;
}

function textsOf(path: string): unknown[] {
  const handle = new BetterSqlite3(path);
  try {
    return handle.prepare('SELECT text FROM item').pluck().all();
  } finally {
    handle.close();
  }
}

describe('a database that could not be opened', () => {
  test(
    'keeps its log where the index of it can only be read when it is closed',
    { skip: process.getuid?.() !== 0 && 'needs root' },
    (t) => {
      const path = killed(t);
      const handle = openRefused(path);
      const index = `${path}-shm`;
      writeFileSync(index, '');
      execFileSync('mount', ['--bind', index, index]);
      try {
        execFileSync('mount', ['-o', 'remount,bind,ro', index]);
        closeUnopened(handle, path);
      } finally {
        execFileSync('umount', [index]);
      }
      assert.deepEqual(textsOf(path), ['acknowledged']);
    },
  );

  test('leaves nothing beside its log, and has everything of it', (t) => {
    const path = killed(t);
    closeUnopened(openRefused(path), path);
    assert.ok(existsSync(`${path}-wal`));
    assert.deepEqual(
      readdirSync(join(path, '..')).filter((name) => name.endsWith('.kept')),
      [],
    );
    assert.deepEqual(textsOf(path), ['acknowledged']);
  });
});
