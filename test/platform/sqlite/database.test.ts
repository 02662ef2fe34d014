import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { LIMITS } from '../../../src/lib/limits.ts';
import {
  type Database,
  migrationsDigest,
  NewerDatabaseError,
  openDatabase,
  readMigrations,
} from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { MIGRATIONS_DIR, recordingLog, temporaryFolder } from '../../support/workspace.ts';

const FIRST = 'CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;';
const SECOND = "ALTER TABLE item ADD COLUMN colour TEXT; UPDATE item SET colour = 'grey';";

interface World {
  folder: string;
  path: string;
  backupDir: string;
  messages: () => string[];
  /** Opens with these migrations, numbered in order. */
  open: (...migrations: string[]) => Database;
}

function world(t: TestContext): World {
  const folder = temporaryFolder(t);
  const { log, lines } = recordingLog(new TestClock());
  const migrationsDir = join(folder, 'migrations');
  const path = join(folder, 'deep', 'state.db');
  const backupDir = join(folder, 'backups');
  const opened: Database[] = [];
  t.after(() => opened.forEach((database) => database.close()));
  mkdirSync(migrationsDir);
  return {
    folder,
    path,
    backupDir,
    messages: () => lines.map(({ message }) => message),
    open: (...migrations) => {
      for (const [index, sql] of migrations.entries())
        writeFileSync(join(migrationsDir, `000${index + 1}_step.sql`), sql);
      const database = openDatabase({ path, migrationsDir, clock: new TestClock(), log, backupDir });
      opened.push(database);
      return database;
    },
  };
}

function names(database: Database): string[] {
  return database
    .prepare<[], { name: string }>('SELECT name FROM item ORDER BY name')
    .all()
    .map(({ name }) => name);
}

function insert(database: Database, name: string): void {
  database.prepare<[string]>('INSERT INTO item (name) VALUES (?)').run(name);
}

function columns(path: string): string[] {
  const handle = new BetterSqlite3(path, { readonly: true });
  try {
    return handle.prepare<[], string>("SELECT name FROM pragma_table_info('item')").pluck().all();
  } finally {
    handle.close();
  }
}

describe('opening a database', () => {
  test('opening a database of a newer version is refused, and the database stays as it is', (t) => {
    const { folder, path, open } = world(t);
    open(FIRST, SECOND).close();
    const older = join(folder, 'older');
    mkdirSync(older);
    writeFileSync(join(older, '0001_step.sql'), FIRST);
    const { log } = recordingLog(new TestClock());
    assert.throws(
      () => openDatabase({ path, migrationsDir: older, clock: new TestClock(), log }),
      (error) =>
        error instanceof NewerDatabaseError &&
        error.message.includes('schema 2, this program knows 1') &&
        error.message.startsWith(path),
    );
    assert.deepEqual(columns(path), ['id', 'name', 'colour']);
  });

  for (const [title, names_] of [
    ['a gap', ['0001_a.sql', '0003_c.sql']],
    ['two of one number', ['0001_a.sql', '0001_b.sql']],
    ['no four digits', ['1_a.sql']],
    ['no words', ['0001.sql']],
  ] as const)
    test(`opening a database refuses migrations with ${title}`, (t) => {
      const folder = temporaryFolder(t);
      for (const name of names_) writeFileSync(join(folder, name), FIRST);
      assert.throws(() => readMigrations(folder), /expected the number \d with four digits/);
    });

  test('opening a file that is no database is refused', (t) => {
    const { path, open } = world(t);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'no database at all, but long enough to be taken for one'.repeat(20));
    assert.throws(() => open(FIRST), { code: 'SQLITE_NOTADB' });
  });

  test('a failed migration leaves the previous schema and data', (t) => {
    const { path, open } = world(t);
    const before = open(FIRST);
    insert(before, 'lamp');
    before.close();
    assert.throws(() => open(FIRST, `${SECOND} INSERT INTO nowhere VALUES (1);`), /nowhere/);
    assert.deepEqual(columns(path), ['id', 'name']);
    const after = open(FIRST, SECOND);
    assert.deepEqual(names(after), ['lamp']);
  });

  test('a failed migration keeps the ones before it', (t) => {
    const { path, open } = world(t);
    assert.throws(() => open(FIRST, SECOND, 'broken;'), /syntax/);
    assert.deepEqual(columns(path), ['id', 'name', 'colour']);
  });

  test('opening a database applies migrations in order, each once', (t) => {
    const { path, open, messages } = world(t);
    open(FIRST).close();
    open(FIRST, SECOND).close();
    open(FIRST, SECOND).close();
    assert.deepEqual(columns(path), ['id', 'name', 'colour']);
    assert.equal(messages().filter((message) => message === 'migration applied').length, 2);
  });

  test('an existing file is copied before a pending migration, and a new one is not', (t) => {
    const { backupDir, open } = world(t);
    const before = open(FIRST);
    insert(before, 'lamp');
    before.close();
    assert.throws(() => readdirSync(backupDir), { code: 'ENOENT' });
    open(FIRST, SECOND).close();
    const copies = readdirSync(backupDir);
    assert.equal(copies.length, 1);
    assert.match(copies[0] ?? '', /^state-before-migration-from-1-\d+\.db$/);
    assert.deepEqual(columns(join(backupDir, copies[0] ?? '')), ['id', 'name']);
    open(FIRST, SECOND).close();
    assert.equal(readdirSync(backupDir).length, 1);
  });

  test('the copies of the last five migrations are kept whatever the clock says, and none that a power cut left', (t) => {
    const { backupDir, open } = world(t);
    insert(open(FIRST), 'lamp');
    mkdirSync(backupDir);
    const copyOf = (seconds: number): string => `state-before-migration-from-0-${seconds}.db`;
    // Made when the clock was ahead.
    for (const seconds of [5, 3, 9, 8, 7]) writeFileSync(join(backupDir, copyOf(4e9 + seconds)), '');
    for (const draft of ['.new', '.new-journal']) writeFileSync(join(backupDir, copyOf(4e9) + draft), '');
    writeFileSync(join(backupDir, 'state-hourly-000001-5.db'), '');
    open(FIRST, SECOND).close();
    const copies = readdirSync(backupDir).sort();
    const [made = ''] = copies.filter((name) => name.includes('-from-1-'));
    const kept = [9, 8, 7, 5].map((seconds) => copyOf(4e9 + seconds));
    assert.deepEqual(copies, [made, ...kept, 'state-hourly-000001-5.db'].sort());
    assert.deepEqual(columns(join(backupDir, made)), ['id', 'name']);
  });

  test('the folder of a database is readable by its own user only', (t) => {
    const { path, open } = world(t);
    open(FIRST);
    assert.equal(statSync(join(path, '..')).mode & 0o777, 0o700);
  });

  test('opening a database sets every pragma', (t) => {
    const database = world(t).open(FIRST);
    const pragma = (name: string): unknown =>
      Object.values(database.prepare<[], Record<string, unknown>>(`PRAGMA ${name}`).get() ?? {})[0];
    const wanted = {
      journal_mode: 'wal',
      synchronous: 2,
      foreign_keys: 1,
      temp_store: 2,
      trusted_schema: 0,
      busy_timeout: 5_000,
      journal_size_limit: LIMITS.state.walBytes,
      cache_size: -4_096,
    };
    const found = Object.fromEntries(Object.keys(wanted).map((name) => [name, pragma(name)]));
    assert.deepEqual(found, wanted);
  });

  for (const name of ['state', 'history'])
    test(`the migrations of ${name}.db apply, and all of its tables are strict`, (t) => {
      const { log } = recordingLog(new TestClock());
      const database = openDatabase({
        path: join(temporaryFolder(t), `${name}.db`),
        migrationsDir: join(MIGRATIONS_DIR, name),
        clock: new TestClock(),
        log,
      });
      t.after(() => database.close());
      const tables = database
        .prepare<[], { name: string; strict: number }>(
          "SELECT name, strict FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
        )
        .all();
      assert.ok(tables.length > 0);
      assert.deepEqual(
        tables.filter(({ strict }) => strict !== 1),
        [],
      );
      assert.deepEqual(database.prepare('PRAGMA foreign_key_check').all(), []);
    });

  test('a set of migrations has a digest that changes with any of them', (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, '0001_a.sql'), FIRST);
    const before = migrationsDigest(folder);
    assert.equal(migrationsDigest(folder), before);
    writeFileSync(join(folder, '0001_a.sql'), `${FIRST} `);
    assert.notEqual(migrationsDigest(folder), before);
  });
});

describe('a transaction', () => {
  test('a transaction leaves nothing when it throws, and the error is the one thrown', (t) => {
    const database = world(t).open(FIRST);
    const fault = new Error('no');
    assert.throws(
      () =>
        database.transaction(() => {
          insert(database, 'lamp');
          throw fault;
        }),
      fault,
    );
    assert.deepEqual([names(database), database.inTransaction], [[], false]);
  });

  test('a transaction runs no work registered for after it when it throws', (t) => {
    const database = world(t).open(FIRST);
    const seen: string[] = [];
    assert.throws(() =>
      database.transaction(() => {
        database.afterCommit(() => seen.push('ran'));
        throw new Error('no');
      }),
    );
    database.transaction(() => undefined);
    assert.deepEqual(seen, []);
  });

  test('a transaction within another is a savepoint: undone alone, with its work for after', (t) => {
    const database = world(t).open(FIRST);
    const seen: string[] = [];
    database.transaction(() => {
      insert(database, 'lamp');
      database.afterCommit(() => seen.push('outer'));
      assert.throws(
        () =>
          database.transaction(() => {
            insert(database, 'meter');
            database.afterCommit(() => seen.push('inner'));
            insert(database, 'lamp');
          }),
        { code: 'SQLITE_CONSTRAINT_UNIQUE' },
      );
      insert(database, 'pump');
    });
    assert.deepEqual(names(database), ['lamp', 'pump']);
    assert.deepEqual(seen, ['outer']);
  });

  test('a transaction runs later work in order, once it is committed and not before', (t) => {
    const { path, open } = world(t);
    const database = open(FIRST);
    const seen: unknown[] = [];
    const result = database.transaction(() => {
      insert(database, 'lamp');
      database.transaction(() => database.afterCommit(() => seen.push('inner', database.inTransaction)));
      database.afterCommit(() => {
        const other = new BetterSqlite3(path, { readonly: true });
        seen.push(other.prepare('SELECT count(*) FROM item').pluck().get());
        other.close();
      });
      assert.deepEqual(seen, []);
      return 7;
    });
    assert.deepEqual([result, seen], [7, ['inner', false, 1]]);
  });

  test('a transaction runs all later work although some of it throws', (t) => {
    const database = world(t).open(FIRST);
    const seen: string[] = [];
    assert.throws(
      () =>
        database.transaction(() => {
          insert(database, 'lamp');
          database.afterCommit(() => {
            throw new Error('listener');
          });
          database.afterCommit(() => seen.push('second'));
        }),
      /listener/,
    );
    assert.deepEqual([names(database), seen], [['lamp'], ['second']]);
  });

  test('a transaction may follow in later work', (t) => {
    const database = world(t).open(FIRST);
    const seen: string[] = [];
    database.transaction(() => {
      database.afterCommit(() =>
        database.transaction(() => {
          insert(database, 'late');
          database.afterCommit(() => seen.push('late'));
        }),
      );
      database.afterCommit(() => seen.push('second'));
    });
    assert.deepEqual([names(database), seen], [['late'], ['late', 'second']]);
  });

  test('work after commit runs at once without a transaction', (t) => {
    const database = world(t).open(FIRST);
    const seen: string[] = [];
    database.afterCommit(() => seen.push('ran'));
    assert.deepEqual(seen, ['ran']);
  });

  test('a transaction holds the write lock from its beginning', (t) => {
    const { path, open } = world(t);
    const database = open(FIRST);
    const other = new BetterSqlite3(path, { timeout: 1 });
    t.after(() => other.close());
    database.transaction(() => {
      assert.throws(() => other.prepare("INSERT INTO item (name) VALUES ('x')").run(), {
        code: 'SQLITE_BUSY',
      });
    });
  });
});

describe('a database', () => {
  test('a database is copied whole while it is open, never over another file', async (t) => {
    const { folder, open } = world(t);
    const database = open(FIRST);
    insert(database, 'lamp');
    const copy = join(folder, 'copy.db');
    await database.copyTo(copy);
    const handle = new BetterSqlite3(copy, { readonly: true });
    assert.equal(handle.prepare('SELECT count(*) FROM item').pluck().get(), 1);
    assert.equal(handle.pragma('integrity_check', { simple: true }), 'ok');
    assert.equal(handle.pragma('user_version', { simple: true }), 1);
    handle.close();
    await assert.rejects(database.copyTo(copy), /already exists/);
  });

  test('the size of a database includes its write-ahead log', (t) => {
    const { path, open } = world(t);
    const database = open(FIRST);
    insert(database, 'x'.repeat(100_000));
    assert.ok(statSync(`${path}-wal`).size > 100_000);
    assert.equal(database.sizeBytes(), statSync(path).size + statSync(`${path}-wal`).size);
  });

  test('a closed database leaves no write-ahead log, and may be closed twice', (t) => {
    const { path, open } = world(t);
    const database = open(FIRST);
    insert(database, 'lamp');
    database.close();
    database.close();
    assert.deepEqual(readdirSync(join(path, '..')), ['state.db']);
  });
});
