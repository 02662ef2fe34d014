/** A database that the gateway can do without: not there, not readable, damaged, of another site or a newer version. */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import * as fc from 'fast-check';
import { GatewayError } from '../../../src/lib/errors.ts';
import { DegradableDatabase, type Owner } from '../../../src/platform/sqlite/index.ts';
import { salvageRest } from '../../../src/platform/sqlite/salvage.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { runs } from '../../support/runs.ts';

const SALVAGE = { later: ['entry', 'cell'], computed: [], identities: {} };
const PAGE_BYTES = 4_096;
const ROWS = 2_000;
/** First byte of a page at the end of a tree: of a table, of an index. */
const LEAVES: ReadonlySet<number> = new Set([0x0d, 0x0a]);

interface Bench {
  folder: string;
  path: string;
  clock: TestClock;
  lines: LogLine[];
  database: DegradableDatabase;
  add: (text: string) => void;
  texts: () => string[];
  open: (site: string) => void;
  close: () => void;
}

const ownerOf = (id: string): Owner => ({
  id,
  read: (database) =>
    database.prepare<[], { value: string }>(`SELECT value FROM fact WHERE name = 'site'`).get()?.value,
  write: (database, value) =>
    void database.prepare<[string]>(`INSERT OR REPLACE INTO fact VALUES ('site', ?)`).run(value),
});

function bench(t: TestContext, folder = temporaryFolder(t), failsToRead?: (path: string) => boolean): Bench {
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir, { recursive: true });
  writeFileSync(
    join(migrationsDir, '0001_first.sql'),
    `CREATE TABLE fact (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
     CREATE TABLE entry (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
     CREATE TABLE cell (series INTEGER, day INTEGER, data TEXT NOT NULL, PRIMARY KEY (series, day))
       STRICT, WITHOUT ROWID;`,
  );
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'history.db');
  const database = new DegradableDatabase({
    path,
    migrationsDir,
    clock,
    log,
    salvage: SALVAGE,
    companions: [join(folder, 'journal')],
    ...(failsToRead && { failsToRead }),
  });
  const insert = database.prepare<[string]>('INSERT INTO entry (text) VALUES (?)');
  const all = database.prepare<[], string>('SELECT text FROM entry ORDER BY id').pluck();
  t.after(() => database.close());
  return {
    folder,
    path,
    clock,
    lines,
    database,
    add: (text) => void insert.run(text),
    texts: () => all.all(),
    open: (site) => database.open(ownerOf(site)),
    close: () => database.close(),
  };
}

const isUnavailable = (error: unknown): boolean =>
  error instanceof GatewayError && error.kind === 'unavailable';

function overwrite(path: string, page: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, page * PAGE_BYTES);
  closeSync(file);
}

function rootOf(path: string, table: string): number {
  const handle = new BetterSqlite3(path);
  const root = handle
    .prepare('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .pluck()
    .get(table) as number;
  handle.close();
  return root - 1;
}

describe('a database that the gateway can do without', () => {
  test('a database that the gateway can do without refuses every use while it cannot be opened, and works as soon as it can', async (t) => {
    const { open, add, texts, clock, path, database } = bench(t);
    mkdirSync(path);
    open('here');
    assert.throws(() => add('lost'), isUnavailable);
    assert.throws(() => database.transaction(() => undefined), isUnavailable);
    assert.ok(database.failure);
    let openings = 0;
    database.join({ opened: () => openings++, release: () => Promise.resolve() });
    assert.equal(openings, 0);
    rmdirSync(path);
    await clock.advance(10_000);
    assert.equal(openings, 1);
    assert.equal(database.failure, undefined);
    add('kept');
    assert.deepEqual(texts(), ['kept']);
  });

  test('a database that the gateway can do without is set aside when it is of another site, and comes back with its site', (t) => {
    const first = bench(t);
    const journal = join(first.folder, 'journal');
    mkdirSync(journal);
    writeFileSync(join(journal, 'of-a'), '');
    first.open('a');
    first.add('of a');
    first.close();

    const other = bench(t, first.folder);
    other.open('b');
    assert.deepEqual(other.texts(), []);
    assert.equal(existsSync(join(journal, 'of-a')), false);
    assert.deepEqual(other.database.setAsideNames().foreign, ['history.db.of-a']);
    other.add('of b');
    other.close();

    const again = bench(t, first.folder);
    again.open('a');
    assert.deepEqual(again.texts(), ['of a']);
    assert.equal(existsSync(join(journal, 'of-a')), true);
    assert.deepEqual(again.database.setAsideNames().foreign, ['history.db.of-b']);
  });

  const schemaTo = (path: string, change: (schema: number) => number): void => {
    const handle = new BetterSqlite3(path);
    const schema = handle.pragma('user_version', { simple: true }) as number;
    handle.pragma(`user_version = ${change(schema)}`);
    handle.close();
  };
  const addMigration = (folder: string): void =>
    writeFileSync(join(folder, 'migrations', '0002_second.sql'), 'CREATE TABLE more (id INTEGER) STRICT;');

  test('a database that the gateway can do without is set aside when it is of a newer version, and comes back with that version', (t) => {
    const first = bench(t);
    const journal = join(first.folder, 'journal');
    mkdirSync(journal);
    writeFileSync(join(journal, 'of-newer'), '');
    first.open('a');
    first.add('of the newer');
    first.close();
    schemaTo(first.path, () => 2);

    const older = bench(t, first.folder);
    older.open('a');
    assert.deepEqual([older.texts(), older.database.failure], [[], undefined]);
    assert.equal(existsSync(join(journal, 'of-newer')), false);
    assert.deepEqual(older.database.setAsideNames().foreign, ['history.db.of-schema-2']);
    assert.ok(
      older.lines.some(({ message }) => message.startsWith('history of a newer version was set aside')),
    );
    older.add('meanwhile');
    older.close();
    const stillOlder = bench(t, first.folder);
    stillOlder.open('a');
    assert.deepEqual(stillOlder.texts(), ['meanwhile']);
    stillOlder.close();

    addMigration(first.folder);
    const newer = bench(t, first.folder);
    newer.open('a');
    assert.deepEqual(newer.texts(), ['of the newer']);
    assert.equal(existsSync(join(journal, 'of-newer')), true);
    assert.deepEqual(newer.database.setAsideNames().foreign, ['history.db.of-a']);
  });

  test('a database that the gateway can do without goes to its site when it is of a newer version and of another site and can be read', (t) => {
    const first = bench(t);
    first.open('b');
    first.add('of b');
    first.close();
    schemaTo(first.path, () => 2);
    const older = bench(t, first.folder);
    older.open('a');
    older.add('of a');
    older.close();
    addMigration(first.folder);
    const newer = bench(t, first.folder);
    newer.open('a');
    assert.deepEqual(newer.texts(), ['of a']);
    assert.deepEqual(newer.database.setAsideNames().foreign, ['history.db.of-b']);
  });

  test('a database that the gateway can do without is taken back by the next opening when a power cut ended the first try', (t) => {
    const first = bench(t);
    const journal = join(first.folder, 'journal');
    mkdirSync(journal);
    first.open('a');
    first.add('of a');
    first.close();
    renameSync(first.path, `${first.path}.of-a`);
    // Moved already.
    writeFileSync(join(journal, 'of-a'), '');
    const again = bench(t, first.folder);
    again.open('a');
    assert.deepEqual(again.texts(), ['of a']);
    assert.equal(existsSync(join(journal, 'of-a')), true);
  });

  test('a database that the gateway can do without on a disk that cannot be read now stays where it is, and is used again once it can be', async (t) => {
    const first = bench(t);
    first.open('a');
    first.add('kept');
    first.close();
    const whole = readFileSync(first.path);
    overwrite(first.path, rootOf(first.path, 'entry'));
    let fails = true;
    const { database, open, texts, clock } = bench(t, first.folder, () => fails);
    open('a');
    assert.throws(texts, { code: 'unavailable' });
    await clock.advance(20_000);
    assert.throws(texts, { code: 'unavailable' });
    assert.deepEqual(database.setAsideNames(), { damaged: [], foreign: [] });
    writeFileSync(first.path, whole);
    fails = false;
    await until(async () => {
      await clock.advance(5_000);
      return database.failure === undefined && database.isOpen;
    });
    assert.deepEqual(texts(), ['kept']);
    assert.deepEqual(database.setAsideNames(), { damaged: [], foreign: [] });
  });

  test('the log of a file is kept while the disk does not tell whether the file is there', async (t) => {
    const before = bench(t);
    before.open('a');
    before.add('only in the log');
    const folder = temporaryFolder(t);
    const { path, clock, database, open, texts } = bench(t, folder);
    copyFileSync(before.path, `${path}.away`);
    copyFileSync(`${before.path}-wal`, `${path}-wal`);
    // Refused with ELOOP, as a disk does with EIO.
    symlinkSync(path, path);
    open('a');
    assert.match(String(database.failure), /ELOOP/);
    rmSync(path);
    renameSync(`${path}.away`, path);
    await clock.advance(5_000);
    assert.deepEqual(texts(), ['only in the log']);
  });

  test('a database that the gateway can do without is set aside when it turns out to be damaged; everybody lets go of it first', async (t) => {
    const first = bench(t);
    first.open('a');
    first.add('kept');
    first.close();
    overwrite(first.path, rootOf(first.path, 'cell'));
    const { database, open, texts, add } = bench(t, first.folder);
    open('a');
    const told: string[] = [];
    database.join({
      opened: () => told.push('opened'),
      release: () => Promise.resolve(void told.push('release')),
    });
    const cells = database.prepare<[], unknown>('SELECT * FROM cell');
    assert.throws(() => cells.all(), isUnavailable);
    await until(() => told.length >= 3);
    assert.deepEqual(told, ['opened', 'release', 'opened']);
    assert.deepEqual(cells.all(), []);
    assert.deepEqual(texts(), ['kept']);
    add('more');
    assert.deepEqual(texts(), ['kept', 'more']);
    assert.equal(database.setAsideNames().damaged.length, 1);
  });

  test('a database that the gateway can do without has nothing of its log read into the new one when it is gone', (t) => {
    const first = bench(t);
    first.open('a');
    first.add('gone');
    const log = readFileSync(`${first.path}-wal`);
    first.close();
    rmSync(first.path);
    writeFileSync(`${first.path}-wal`, log);
    const { database, open, texts } = bench(t, first.folder);
    open('a');
    assert.deepEqual([texts(), database.failure], [[], undefined]);
  });

  test('a salvage command gives back every row that is not on a damaged page', async (t) => {
    const whole = bench(t);
    whole.open('a');
    const cell = whole.database.prepare<[number, number, string]>('INSERT INTO cell VALUES (?, ?, ?)');
    whole.database.transaction(() => {
      for (let index = 0; index < ROWS; index++) {
        whole.add(`${index} ${'x'.repeat(100)}`);
        cell.run(index % 7, Math.floor(index / 7), 'y'.repeat(100));
      }
    });
    whole.close();
    const image = readFileSync(whole.path);
    const pages = statSync(whole.path).size / PAGE_BYTES;
    const roots = new Set(['fact', 'entry', 'cell'].map((table) => rootOf(whole.path, table)));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.integer({ min: 1, max: pages - 1 }), { minLength: 1, maxLength: 4 }),
        async (damaged) => {
          // Losing an inner page of a tree loses the pages below it.
          const hit = damaged.filter((page) => LEAVES.has(image[page * PAGE_BYTES] ?? 0) && !roots.has(page));
          if (hit.length === 0) return;
          const folder = temporaryFolder(t);
          writeFileSync(join(folder, 'history.db'), image);
          for (const page of hit) overwrite(join(folder, 'history.db'), page);
          const { open, database, close } = bench(t, folder);
          open('a');
          for (const table of ['entry', 'cell'])
            try {
              database.prepare(`SELECT * FROM ${table}`).all();
            } catch (error) {
              assert.ok(isUnavailable(error), String(error));
              break;
            }
          await until(() => database.isOpen && database.failure === undefined);
          const [aside] = database.setAsideNames().damaged;
          if (aside !== undefined) salvageRest(join(folder, aside), database as never, SALVAGE);
          const rows = (table: string): number =>
            database.prepare<[], number>(`SELECT COUNT(*) FROM ${table}`).pluck().get() as number;
          // A page holds fewer than forty rows.
          assert.ok(
            rows('entry') + rows('cell') >= 2 * ROWS - 40 * hit.length,
            `${rows('entry')} + ${rows('cell')}`,
          );
          close();
        },
      ),
      // Damage in each table: short readable stretches between damaged pages, at a change of the first column too.
      { numRuns: runs(5), examples: [[[95, 61]]] },
    );
  });
});
