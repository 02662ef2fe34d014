import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { lockFolder, openState, tryLockFolder } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

function instruments() {
  const clock = new TestClock();
  return { clock, log: recordingLog(clock).log };
}

const lock = (dataDir: string) => tryLockFolder({ dataDir, ...instruments() });

describe('the lock of a data folder', () => {
  test('the lock of a data folder is taken on a file of zeros, and still keeps others out', (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'gateway.lock'), Buffer.alloc(512));
    const held = lock(folder);
    assert.ok(held);
    t.after(() => held.release());
    assert.equal(lock(folder), undefined);
    assert.equal(statSync(join(folder, 'gateway.lock')).size, 0);
  });

  test('the lock of a data folder tells whether the last holder was killed, had served, and kept its power', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'gateway.lock.holder');
    const killedAfter = (text: string) => {
      writeFileSync(path, text);
      const next = lock(folder);
      next?.release();
      return next?.killed;
    };
    const first = lock(folder);
    const started = readFileSync(path, 'utf8');
    first?.serves(8080);
    const serving = readFileSync(path, 'utf8');
    first?.release();
    const second = lock(folder);
    assert.equal(second?.killed, undefined);
    second?.release();
    assert.deepEqual(killedAfter(started), { hasServed: false, isOfThisBoot: true });
    assert.deepEqual(killedAfter(serving), { hasServed: true, isOfThisBoot: true });
    const [sentence] = serving.split('\n');
    assert.deepEqual(killedAfter(`${sentence}\nanother boot\n`), { hasServed: true, isOfThisBoot: false });
    assert.deepEqual(killedAfter(''), { hasServed: false, isOfThisBoot: false });
  });

  test('a lock that cannot be a file is named as lasting, since no restart mends it', (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'gateway.lock'));
    assert.throws(() => lock(folder), {
      name: 'UnrecoverableError',
      message: /gateway\.lock cannot be used/,
    });
  });

  test('a file system without locks is distinguished from a folder in use, and is tried again', async (t) => {
    const folder = temporaryFolder(t);
    const wait = () => lockFolder({ dataDir: folder, waitMs: 0, ...instruments() });
    const held = lock(folder);
    assert.ok(held);
    await assert.rejects(wait, { name: 'GatewayError', message: /Another gateway uses .*: process / });
    held.release();
    const refusal = t.mock.method(BetterSqlite3.prototype, 'exec', () => {
      // What SQLite makes of ENOLCK.
      throw new BetterSqlite3.SqliteError('database is locked', 'SQLITE_BUSY');
    });
    await assert.rejects(wait, { name: 'GatewayError', message: /gateway\.lock, .* gives no locks here/ });
    assert.deepEqual(readdirSync(folder), ['gateway.lock']);
    refusal.mock.restore();
    (await wait()).release();
  });

  test('a lock file that the disk refuses is named, and tried again', (t) => {
    const folder = temporaryFolder(t);
    const refusal = t.mock.method(BetterSqlite3.prototype, 'exec', () => {
      throw new BetterSqlite3.SqliteError('disk I/O error', 'SQLITE_IOERR_LOCK');
    });
    assert.throws(() => lock(folder), {
      name: 'GatewayError',
      message: /gateway\.lock, .* cannot be locked: The disk fails now/,
    });
    refusal.mock.restore();
    lock(folder)?.release();
  });

  test('a folder that the system does not make is named', () => {
    assert.throws(() => lock('/proc/gateway'), {
      name: 'UnrecoverableError',
      message: /\/proc\/gateway.*ENOENT/,
    });
  });
});

describe('state.db', () => {
  for (const name of ['state.db', 'state.db-wal', 'state.db-shm'])
    test(`state.db is not opened with a folder in the place of ${name}, which is named with what to do`, (t) => {
      const folder = temporaryFolder(t);
      mkdirSync(join(folder, name));
      const path = join(folder, 'state.db');
      assert.throws(() => openState({ path, migrationsDir: folder, backupDir: folder, ...instruments() }), {
        name: 'UnrecoverableError',
        message: new RegExp(`${name} cannot be used by user`),
      });
    });
});
