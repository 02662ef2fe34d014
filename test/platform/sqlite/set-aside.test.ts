/** Files of a database that were set aside are found, classified and removed. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  DegradableDatabase,
  removeSetAside,
  setAside,
  setAsideOf,
} from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { MIGRATIONS_DIR, recordingLog, temporaryFolder } from '../../support/workspace.ts';

const OWNER = { id: 'site', read: () => 'site', write: () => undefined };

function world(t: TestContext) {
  const folder = temporaryFolder(t);
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'history.db');
  const open = (): DegradableDatabase => {
    const database = new DegradableDatabase({
      path,
      migrationsDir: join(MIGRATIONS_DIR, 'history'),
      salvage: { later: [], computed: [], identities: {} },
      companions: [],
      clock,
      log,
    });
    t.after(() => database.close());
    database.open(OWNER);
    return database;
  };
  return {
    path,
    open,
    clock,
    errors: () => lines.filter(({ level }) => level === 'error').map(({ message }) => message),
    aside: () => readdirSync(folder).filter((name) => name.startsWith('history.db.damaged-')),
    folder,
    atS: Math.floor(clock.wallMs() / 1_000),
  };
}

const tables = (database: DegradableDatabase): number =>
  database.prepare<[], { count: number }>('SELECT count(*) AS count FROM sqlite_schema').get()?.count ?? 0;

describe('a database is not set aside', () => {
  test('a database is not set aside when it is good', (t) => {
    const { open, aside, errors } = world(t);
    open().close();
    open();
    assert.deepEqual([aside(), errors()], [[], []]);
  });
});

describe('a database is set aside, and a new one begun, when it', () => {
  const damages: [title: string, damage: (path: string) => void][] = [
    ['holds something else', (path) => writeFileSync(path, 'this is a text, not a database. '.repeat(200))],
    ['lost its head', (path) => writeFileSync(path, overwritten(path, 0, 200))],
    ['lost its schema', (path) => writeFileSync(path, overwritten(path, 100, 3_900))],
    ['was cut short', (path) => truncateSync(path, 5_000)],
  ];
  for (const [title, damage] of damages)
    test(title, async (t) => {
      const { path, open, aside, folder, atS } = world(t);
      const good = open();
      const count = tables(good);
      good.close();
      damage(path);
      const damaged = readFileSync(path);
      const fresh = open();
      await until(() => fresh.isOpen);
      assert.equal(tables(fresh), count);
      assert.deepEqual(aside(), [`history.db.damaged-${atS}`]);
      assert.deepEqual(readFileSync(join(folder, `history.db.damaged-${atS}`)), damaged);
    });
});

test('two that are set aside at the same moment of a wrong clock do not take each other’s name', (t) => {
  const { path, clock, atS } = world(t);
  const paths = ['first', 'second'].map((text) => {
    writeFileSync(path, text);
    return setAside(path, clock);
  });
  assert.deepEqual(paths, [`${path}.damaged-${atS}`, `${path}.damaged-${atS}-2`]);
  assert.deepEqual(
    paths.map((each) => readFileSync(each, 'utf8')),
    ['first', 'second'],
  );
});

test('a database that was set aside is listed with its size and kind, the oldest first, and removed with its companions', (t) => {
  const { path, folder } = world(t);
  const write = (name: string, bytes: number, atS: number): void => {
    writeFileSync(join(folder, name), Buffer.alloc(bytes));
    utimesSync(join(folder, name), atS, atS);
  };
  write('history.db', 1, 9);
  write('history.db-wal', 1, 9);
  write('history.db.of-b', 10, 3);
  write('history.db.of-b-wal', 5, 4);
  write('history.db.damaged-7', 20, 1);
  mkdirSync(join(folder, 'journal.of-b'));
  write(join('journal.of-b', '1.journal'), 30, 2);
  const found = setAsideOf(path);
  assert.deepEqual(found, [
    { kind: 'damaged', path: `${path}.damaged-7`, sizeBytes: 20, writtenAtMs: 1_000 },
    { kind: 'foreign', path: `${path}.of-b`, sizeBytes: 15, writtenAtMs: 4_000 },
  ]);
  const [journal] = setAsideOf(join(folder, 'journal'));
  assert.equal(journal?.sizeBytes, 30);
  assert.equal([...found, journal].map((each) => removeSetAside(each ?? { path, sizeBytes: 0 })).length, 3);
  assert.deepEqual(readdirSync(folder).toSorted(), ['history.db', 'history.db-wal']);
});

/** The bytes of a file with garbage in place of some. */
function overwritten(path: string, from: number, sizeBytes: number): Buffer {
  const bytes = readFileSync(path);
  bytes.fill(0xa5, from, from + sizeBytes);
  return bytes;
}
