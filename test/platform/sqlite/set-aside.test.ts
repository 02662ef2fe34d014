/** A database that the gateway can do without: damage costs its content, never the start. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import {
  type Database,
  markDamaged,
  NewerDatabaseError,
  openOrSetAside,
} from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { MIGRATIONS_DIR, recordingLog, temporaryFolder } from '../../support/workspace.ts';

function world(t: TestContext) {
  const folder = temporaryFolder(t);
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'history.db');
  const opened: Database[] = [];
  t.after(() => opened.forEach((database) => database.close()));
  const open = (): Database => {
    const database = openOrSetAside({ path, migrationsDir: join(MIGRATIONS_DIR, 'history'), clock, log });
    opened.push(database);
    return database;
  };
  return {
    path,
    open,
    errors: () => lines.filter(({ level }) => level === 'error').map(({ message }) => message),
    aside: () => readdirSync(folder).filter((name) => name.startsWith('history.db.')),
    folder,
    atS: Math.floor(clock.wallMs() / 1_000),
  };
}

const tables = (database: Database): number =>
  database.prepare<[], { count: number }>('SELECT count(*) AS count FROM sqlite_schema').get()?.count ?? 0;

describe('a database that is not set aside', () => {
  test('is one of a newer version: it is refused', (t) => {
    const { path, open, aside } = world(t);
    open().close();
    const handle = new BetterSqlite3(path);
    handle.pragma('user_version = 999');
    handle.close();
    assert.throws(open, NewerDatabaseError);
    assert.deepEqual(aside(), []);
  });

  test('is one that cannot be reached', (t) => {
    const { path } = world(t);
    const clock = new TestClock();
    writeFileSync(path, '');
    const below = {
      path: join(path, 'history.db'),
      migrationsDir: join(MIGRATIONS_DIR, 'history'),
      clock,
      log: recordingLog(clock).log,
    };
    assert.throws(() => openOrSetAside(below), { code: /^(ENOTDIR|EEXIST)$/ });
  });

  test('is a good one', (t) => {
    const { open, aside, errors } = world(t);
    open().close();
    open();
    assert.deepEqual([aside(), errors()], [[], []]);
  });
});

describe('a database that is set aside', () => {
  const damages: [title: string, damage: (path: string) => void][] = [
    ['holds something else', (path) => writeFileSync(path, 'this is a text, not a database. '.repeat(200))],
    ['lost its head', (path) => writeFileSync(path, overwritten(path, 0, 200))],
    ['lost its schema', (path) => writeFileSync(path, overwritten(path, 100, 3_900))],
    ['was cut short', (path) => truncateSync(path, 5_000)],
  ];
  for (const [title, damage] of damages)
    test(`${title}; a new one is begun and the old one kept`, (t) => {
      const { path, open, aside, errors, folder, atS } = world(t);
      const good = open();
      const count = tables(good);
      good.close();
      damage(path);
      const damaged = readFileSync(path);
      assert.equal(tables(open()), count);
      assert.deepEqual(aside(), [`history.db.damaged-${atS}`]);
      assert.deepEqual(readFileSync(join(folder, `history.db.damaged-${atS}`)), damaged);
      assert.deepEqual(errors(), ['damaged database set aside, a new one was begun']);
    });
});

describe('a database that was marked while it was open', () => {
  test('is set aside at the next start, whatever it holds, and the one after begins with the new one', (t) => {
    const { path, open, aside, errors } = world(t);
    open().close();
    markDamaged(path);
    open().close();
    assert.equal(aside().length, 1);
    open();
    assert.deepEqual([aside().length, errors().length], [1, 1]);
  });

  test('may be gone meanwhile', (t) => {
    const { path, open, aside } = world(t);
    markDamaged(path);
    open();
    assert.deepEqual(aside(), []);
  });
});

/** The bytes of a file with garbage in place of some. */
function overwritten(path: string, from: number, sizeBytes: number): Buffer {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, from, from + sizeBytes);
  return bytes;
}
