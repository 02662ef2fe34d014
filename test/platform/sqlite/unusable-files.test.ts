/** Files and folders of a database that cannot be used: what a start does without, and what it says. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openDatabase } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

function place(t: TestContext) {
  const folder = temporaryFolder(t);
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const migrationsDir = join(folder, 'migrations');
  const options = {
    path: join(folder, 'data', 'state.db'),
    migrationsDir,
    backupDir: join(folder, 'backups'),
  };
  mkdirSync(migrationsDir);
  const migrate = (number: number, sql: string): void =>
    writeFileSync(join(migrationsDir, `000${number}_step.sql`), sql);
  migrate(1, 'CREATE TABLE item (name TEXT NOT NULL) STRICT;');
  return { folder, options, lines, migrate, open: () => openDatabase({ ...options, clock, log }) };
}

for (const [title, obstruct] of [
  ['is a file', (folder: string) => writeFileSync(folder, '')],
  ['leads nowhere', (folder: string) => symlinkSync('/nowhere/at/all', folder)],
] as const)
  test(`a migration goes on without a copy, and says so, when the folder for it ${title}`, (t) => {
    const { options, lines, migrate, open } = place(t);
    const before = open();
    before.prepare('INSERT INTO item VALUES (?)').run('lamp');
    before.close();
    obstruct(options.backupDir);
    migrate(2, "ALTER TABLE item ADD COLUMN colour TEXT; UPDATE item SET colour = 'grey';");
    const after = open();
    assert.deepEqual(after.prepare('SELECT * FROM item').all(), [{ name: 'lamp', colour: 'grey' }]);
    after.close();
    assert.equal(lines.filter(({ message }) => message.includes('is not copied')).length, 1);
  });

test('a database that belongs to another user is named, with what a person can do', (t) => {
  const { folder, options, open } = place(t);
  open().close();
  // Every user can reach the file.
  for (const each of [tmpdir(), folder, dirname(options.path)])
    if ((statSync(each).mode & 0o001) === 0) chmodSync(each, 0o711);
  chmodSync(options.path, 0o000);
  const source = import.meta.resolve('../../../src/platform/sqlite/database.ts');
  const program = `
    const { openDatabase } = await import('${source}');
    try { openDatabase(${JSON.stringify(options)}); } catch (error) { console.log(error.name, error.message); }`;
  const stranger = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const words = ['--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', ...stranger });
  assert.match(
    stdout,
    /^UnrecoverableError .*state\.db cannot be used by user .*Make it a file that this user may read/,
    stderr,
  );
});
