/** Losses that SQLite says nothing of: of the write-ahead log after a kill, and of pages of state.db. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { lastRecovery, openDatabase, openState, textOfRecovery } from '../../../src/platform/sqlite/index.ts';
import type { LostChanges } from '../../../src/platform/sqlite/log-evidence.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const PAGE_BYTES = 4_096;
const SCHEMA = `CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL) STRICT;
  CREATE INDEX person_by_name ON person (name);
  CREATE TABLE place (id INTEGER PRIMARY KEY, name TEXT NOT NULL CHECK (json_valid(name))) STRICT;`;

function world(t: TestContext) {
  const folder = temporaryFolder(t);
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(join(migrationsDir, '0001_first.sql'), SCHEMA);
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const path = join(folder, 'state.db');
  const backupDir = join(folder, 'backups');
  mkdirSync(backupDir);
  return { folder, path, migrationsDir, backupDir, clock, log };
}

describe('a write-ahead log after a kill', () => {
  /** The files as a killed process leaves them. */
  function killed(t: TestContext) {
    const given = world(t);
    const living = join(given.folder, 'living.db');
    const options = { ...given, isFirst: true };
    const database = openDatabase({ ...options, path: living });
    database.checkpoint();
    for (let id = 1; id <= 20; id++)
      database.prepare<[number, string]>('INSERT INTO person VALUES (?, ?)').run(id, 'a'.repeat(500));
    for (const suffix of ['', '-wal', '-shm']) copyFileSync(living + suffix, given.path + suffix);
    database.close();
    const open = (wasOpen = false): LostChanges | undefined => {
      let lost: LostChanges | undefined;
      openDatabase({ ...options, wasOpen, onLost: (found) => void (lost = found) }).close();
      return lost;
    };
    return { ...given, log: `${given.path}-wal`, open };
  }

  const flip = (path: string, at: number): void => {
    const bytes = readFileSync(path);
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    writeFileSync(path, bytes);
  };

  test('a whole log is no loss, nor is one that was closed in order', (t) => {
    const { open } = killed(t);
    assert.equal(open(), undefined);
    assert.equal(open(), undefined);
  });

  const damages: [title: string, damage: (log: string) => void][] = [
    ['one flipped bit in its middle', (log) => flip(log, 32 + 10 * (PAGE_BYTES + 24) + 100)],
    ['one flipped bit in its header', (log) => flip(log, 17)],
    ['half of it gone', (log) => truncateSync(log, 32 + 10 * (PAGE_BYTES + 24) + 100)],
    ['zeros in its place', (log) => writeFileSync(log, Buffer.alloc(readFileSync(log).length))],
    ['nothing in it', (log) => truncateSync(log, 0)],
    ['no log at all', (log) => rmSync(log)],
  ];
  for (const [title, damage] of damages)
    test(`a loss is reported with ${title}`, (t) => {
      const { log, open } = killed(t);
      damage(log);
      const lost = open();
      assert.ok(lost && lost.fromMs <= lost.toMs && lost.toMs > 0);
      assert.equal(open(), undefined);
    });

  for (const [title, lose] of [
    ['gone', (path: string) => rmSync(path)],
    ['empty', (path: string) => truncateSync(path, 0)],
  ] as const)
    test(`a loss is reported when log and index are ${title}, if the last process had them open`, (t) => {
      const { path, open } = killed(t);
      for (const suffix of ['-wal', '-shm']) lose(path + suffix);
      assert.equal(open(), undefined);
      for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
      assert.ok(open(true));
    });

  test('a missing database that never existed is no loss', (t) => {
    const { path, open } = killed(t);
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix);
    assert.equal(open(true), undefined);
  });

  test('a loss is reported without the shared index, by frames behind the end of the log', (t) => {
    const { path, log, open } = killed(t);
    rmSync(`${path}-shm`);
    flip(log, 32 + 10 * (PAGE_BYTES + 24) + 100);
    assert.ok(open());
  });
});

describe('a damaged page of state.db', () => {
  /** A state.db with a copy from before its last row in each table. */
  function used(t: TestContext) {
    const given = world(t);
    const open = () => openState(given);
    const state = open();
    const person = state.prepare<[number, string]>('INSERT INTO person VALUES (?, ?)');
    const place = state.prepare<[number, string]>('INSERT INTO place VALUES (?, ?)');
    const add = (id: number): void => {
      person.run(id, `person ${id}`);
      place.run(id, `"place ${id}"`);
    };
    add(1);
    state.prepare('VACUUM INTO ?').run(join(given.backupDir, 'state-hourly-000001-5.db'));
    add(2);
    state.close();
    const spoil = (name: string, change: (page: Buffer) => void): void => {
      const handle = new BetterSqlite3(given.path);
      const root = handle
        .prepare<[string], number>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
        .pluck()
        .get(name) as number;
      handle.close();
      const bytes = readFileSync(given.path);
      change(bytes.subarray((root - 1) * PAGE_BYTES, root * PAGE_BYTES));
      writeFileSync(given.path, bytes);
    };
    const reopened = () => {
      const database = open();
      t.after(() => database.close());
      const idsOf = (table: string): number[] =>
        database.prepare<[], number>(`SELECT id FROM ${table} ORDER BY id`).pluck().all();
      const recovery = lastRecovery(given.folder, given.log);
      return { people: idsOf('person'), places: idsOf('place'), recovery };
    };
    return { spoil, reopened };
  }

  test('a damaged page of an index loses no row', (t) => {
    const { spoil, reopened } = used(t);
    spoil('person_by_name', (page) => page.fill(0xa5));
    const { people, places, recovery } = reopened();
    assert.deepEqual([people, places, recovery?.fromCopy], [[1, 2], [1, 2], []]);
    assert.ok(recovery && existsSync(recovery.aside ?? ''));
    assert.match(textOfRecovery(recovery), /nothing is lost/);
  });

  for (const [title, change] of [
    ['a table that cannot be read', (page: Buffer) => page.fill(0xa5)],
    ['a value that violates a CHECK', (page: Buffer) => page.write('x', page.indexOf('"place 1"'))],
  ] as const)
    test(`${title} of state.db comes from the newest copy, and the other tables stay`, (t) => {
      const { spoil, reopened } = used(t);
      spoil('place', change);
      const { people, places, recovery } = reopened();
      assert.deepEqual([people, places, recovery?.fromCopy], [[1, 2], [1], ['place']]);
      assert.match(recovery ? textOfRecovery(recovery) : '', /^From the copy of 1970-.*: the tables place;/);
    });
});
