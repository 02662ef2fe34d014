/** A state.db that was removed or replaced while it was open. */
import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { closeState, openDatabase } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

/** An open state.db with one entry, in a folder of its own. */
function opened(t: TestContext) {
  const folder = join(temporaryFolder(t), 'data');
  const migrationsDir = join(temporaryFolder(t), 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(join(migrationsDir, '0001_first.sql'), 'CREATE TABLE entry (value TEXT NOT NULL) STRICT;');
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'state.db');
  const open = (file = path) =>
    openDatabase({ path: file, migrationsDir, clock, log, sync: async () => undefined });
  const entries = (file = path): string[] => {
    const database = open(file);
    const found = database.prepare<[], string>('SELECT value FROM entry').pluck().all();
    database.close();
    return found;
  };
  const database = open();
  const insert = (value: string): unknown =>
    database.prepare<[string]>('INSERT INTO entry VALUES (?)').run(value);
  insert('before');
  const errors = () => lines.filter(({ level }) => level === 'error');
  return { folder, path, database, insert, entries, log, errors };
}

describe('what was stored in a state.db', () => {
  const losses: [title: string, lose: (folder: string, path: string) => void][] = [
    ['is removed', (_folder, path) => rmSync(path)],
    ['is removed with its folder', (folder) => rmSync(folder, { recursive: true })],
    ['is renamed with its folder', (folder) => renameSync(folder, `${folder}.old`)],
  ];
  for (const [title, lose] of losses)
    test(`that ${title} is there after the close`, (t) => {
      const { folder, path, database, insert, entries, log, errors } = opened(t);
      assert.equal(database.isInPlace, true);
      lose(folder, path);
      assert.equal(database.isInPlace, false);
      insert('after');
      closeState(database, log);
      assert.deepEqual(
        errors().map(({ message }) => message),
        ['state.db was removed while the gateway ran, and is put back'],
      );
      assert.deepEqual(entries(), ['before', 'after']);
    });

  test('that is replaced is kept beside the one that stands there now', (t) => {
    const { folder, path, database, insert, entries, log, errors } = opened(t);
    database.checkpoint();
    copyFileSync(path, `${path}.copy`);
    rmSync(`${path}-wal`);
    renameSync(`${path}.copy`, path);
    insert('after');
    closeState(database, log);
    const copy = join(folder, 'backups', 'state-replaced.db');
    assert.deepEqual(
      errors().map((line) => line['copy']),
      [copy],
    );
    assert.deepEqual(entries(), ['before']);
    assert.deepEqual(entries(copy), ['before', 'after']);
  });

  test('that stays where it is is closed, and nothing more', (t) => {
    const { folder, database, insert, entries, log, errors } = opened(t);
    insert('after');
    closeState(database, log);
    assert.deepEqual([errors(), readdirSync(folder)], [[], ['state.db']]);
    assert.deepEqual(entries(), ['before', 'after']);
  });

  test('that cannot be put back is closed all the same, and told', (t) => {
    const { folder, database, log, errors } = opened(t);
    rmSync(folder, { recursive: true });
    writeFileSync(folder, '');
    closeState(database, log);
    assert.deepEqual(
      errors().map(({ message }) => message),
      ['state.db was removed or replaced, and could not be put back'],
    );
    assert.equal(existsSync(join(folder, 'state.db')), false);
  });
});

test('a write-ahead log that is removed is noticed', async (t) => {
  const { path, database, insert } = opened(t);
  t.after(() => database.close());
  insert('after');
  await database.durable();
  assert.equal(database.isLogInPlace, true);
  rmSync(`${path}-wal`);
  assert.deepEqual([database.isInPlace, database.isLogInPlace], [true, false]);
});
