/** state.db comes back from its newest good copy, and a person is told, whenever the power is cut. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { lastRecovery, openState } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

/** A folder with a damaged state.db and a good copy of it. */
function damaged(t: TestContext) {
  const folder = temporaryFolder(t);
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(join(migrationsDir, '0001_first.sql'), 'CREATE TABLE entry (value BLOB NOT NULL) STRICT;');
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'state.db');
  const backupDir = join(folder, 'backups');
  const open = (rename?: (from: string, to: string) => void) =>
    openState({ path, migrationsDir, backupDir, clock, log }, rename);
  mkdirSync(backupDir);
  const state = open();
  state.prepare('VACUUM INTO ?').run(join(backupDir, 'state-hourly-000001-5.db'));
  state.close();
  writeFileSync(path, 'no database. '.repeat(1_000));
  return { folder, lines, open, recovery: () => lastRecovery(folder, log) };
}

describe('the note of a recovery of state.db', () => {
  test('stands there before the copy has its name, so that no cut of power loses it', (t) => {
    const { open, recovery } = damaged(t);
    const cut = (): void => {
      throw new Error('power cut');
    };
    assert.throws(() => open(cut), /power cut/);
    assert.equal(recovery()?.reason, 'damaged');
    open().close();
    assert.match(recovery()?.copy ?? '', /state-hourly-000001-5\.db$/);
  });

  test('that cannot be written or read is told, and keeps no state.db from coming back', (t) => {
    const { folder, lines, open, recovery } = damaged(t);
    const note = join(folder, 'state-recovery.json');
    mkdirSync(note);
    open().close();
    assert.equal(recovery(), undefined);
    const told = lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.deepEqual(told, [
      'the note of a recovery could not be written',
      'the note of a recovery cannot be read, so nobody is told of one',
    ]);
    rmSync(note, { recursive: true });
    assert.equal(recovery(), undefined);
  });
});

describe('a local copy of state.db that cannot be read', () => {
  test('is passed over for an older one', (t) => {
    const { folder, open, recovery } = damaged(t);
    mkdirSync(join(folder, 'backups', 'state-hourly-000002-6.db'));
    open().close();
    assert.match(recovery()?.copy ?? '', /state-hourly-000001-5\.db$/);
  });

  test('may be good: no new site is begun beside it, and a later start tries again', (t) => {
    const { folder, open, recovery } = damaged(t);
    rmSync(join(folder, 'backups', 'state-hourly-000001-5.db'));
    mkdirSync(join(folder, 'backups', 'state-hourly-000002-6.db'));
    rmSync(join(folder, 'state.db'));
    assert.throws(() => open(), { code: 'SQLITE_CANTOPEN' });
    assert.equal(recovery(), undefined);
  });
});
