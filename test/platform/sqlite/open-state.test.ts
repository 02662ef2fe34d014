/** state.db comes back from its newest good copy with a report, whenever the power is cut. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
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
  const open = (disk: Parameters<typeof openState>[1] = {}) =>
    openState({ path, migrationsDir, backupDir, clock, log }, disk);
  mkdirSync(backupDir);
  const state = open();
  state.prepare('VACUUM INTO ?').run(join(backupDir, 'state-hourly-000001-5.db'));
  state.close();
  const good = readFileSync(path);
  writeFileSync(path, 'no database. '.repeat(1_000));
  return {
    folder,
    lines,
    open,
    recovery: () => lastRecovery(folder, log),
    /** What was read as damage is there again. */
    isWell: () => writeFileSync(path, good),
  };
}

describe('the note of a recovery of state.db', () => {
  test('the note of a recovery of state.db is written before the copy has its name, so that no power cut loses it', (t) => {
    const { open, recovery } = damaged(t);
    const cut = (): void => {
      throw new Error('power cut');
    };
    assert.throws(() => open({ rename: cut }), /power cut/);
    assert.equal(recovery()?.reason, 'damaged');
    open().close();
    assert.match(recovery()?.copy ?? '', /state-hourly-000001-5\.db$/);
  });

  test('the note of a recovery of state.db is reported when it cannot be written or read, and prevents no recovery', (t) => {
    const { folder, lines, open, recovery } = damaged(t);
    const note = join(folder, 'state-recovery.json');
    mkdirSync(note);
    open().close();
    assert.equal(recovery(), undefined);
    const told = lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.deepEqual(told, [
      'the rows of the damaged state.db cannot be read',
      'the note of a recovery could not be written',
      'the note of a recovery cannot be read, so nobody is told of one',
    ]);
    rmSync(note, { recursive: true });
    assert.equal(recovery(), undefined);
  });
});

test('state.db comes back although its header has an unknown format, or no version of the schema', (t) => {
  // https://sqlite.org/fileformat2.html#the_database_header
  for (const [at, value, isFromCopy] of [
    [47, 9, true],
    [63, 0, false],
  ] as const) {
    const { folder, isWell, open, recovery } = damaged(t);
    isWell();
    const path = join(folder, 'state.db');
    const earlier = open();
    earlier.prepare("INSERT INTO entry VALUES (x'01')").run();
    earlier.close();
    const bytes = readFileSync(path);
    bytes[at] = value;
    writeFileSync(path, bytes);
    const state = open();
    const count = state.prepare<[], number>('SELECT count(*) FROM entry').pluck().get();
    state.close();
    assert.deepEqual([count, recovery()?.fromCopy], isFromCopy ? [0, 'everything'] : [1, []]);
  }
});

describe('a state.db of an earlier version', () => {
  test('a state.db of an earlier version stays when the disk does not read the copy that is made before its migration', (t) => {
    const { folder, isWell, open, recovery } = damaged(t);
    isWell();
    const state = open();
    state.prepare<[Buffer]>('INSERT INTO entry VALUES (?)').run(Buffer.from('acknowledged'));
    state.close();
    writeFileSync(join(folder, 'migrations', '0002_note.sql'), 'CREATE TABLE note (text TEXT) STRICT;');
    const { prepare } = BetterSqlite3.prototype as unknown as {
      prepare: (this: unknown, sql: string) => never;
    };
    const refusal = t.mock.method(BetterSqlite3.prototype, 'prepare', function (this: unknown, sql: string) {
      // What SQLite makes of EIO from the file into which it copies.
      if (sql.startsWith('VACUUM INTO'))
        throw new BetterSqlite3.SqliteError('unable to open database: state-before.db.new', 'SQLITE_CORRUPT');
      return prepare.call(this, sql);
    });
    assert.throws(open, { name: 'GatewayError', message: /disk fails now/ });
    refusal.mock.restore();
    const migrated = open();
    t.after(() => migrated.close());
    assert.equal(migrated.prepare('SELECT count(*) FROM entry').pluck().get(), 1);
    assert.equal(recovery(), undefined);
    assert.ok(readdirSync(folder).every((name) => !name.includes('damaged')));
  });
});

describe('an empty state.db with a log beside it', () => {
  const withLog = (t: TestContext) => {
    const world = damaged(t);
    writeFileSync(join(world.folder, 'state.db'), '');
    writeFileSync(join(world.folder, 'state.db-wal'), 'all that was written last');
    const logs = (): string[] =>
      readdirSync(world.folder).filter((name) => /^state\.db\.damaged-\d+-wal$/.test(name));
    return { ...world, logs };
  };

  test('an empty state.db with a log beside it is replaced by its copy, and the log is set aside', (t) => {
    const { open, recovery, logs } = withLog(t);
    open().close();
    assert.match(recovery()?.copy ?? '', /state-hourly-000001-5\.db$/);
    assert.equal(logs().length, 1);
  });

  test('an empty state.db without a copy is begun anew, as after a first start cut off by a power cut, and the log is set aside', (t) => {
    const { folder, open, recovery, logs } = withLog(t);
    rmSync(join(folder, 'backups'), { recursive: true });
    open().close();
    assert.equal(recovery(), undefined);
    const [log = ''] = logs();
    assert.equal(readFileSync(join(folder, log), 'utf8'), 'all that was written last');
  });
});

describe('a disk that cannot be read', () => {
  test('an unreadable disk is no damage of state.db: nothing takes its place, and a later start tries again', (t) => {
    const { folder, open, recovery, isWell } = damaged(t);
    const failing = { failsToRead: () => true };
    assert.throws(() => open(failing), { code: 'unavailable' });
    assert.equal(recovery(), undefined);
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('.damaged-')),
      [],
    );
    isWell();
    open().close();
    assert.equal(recovery(), undefined);
  });

  test('a disk that fails to read once is no damage: the file is read again', (t) => {
    const { open, recovery, isWell } = damaged(t);
    const failedOnce = {
      failsToRead: () => {
        isWell();
        return false;
      },
    };
    open(failedOnce).close();
    assert.equal(recovery(), undefined);
  });

  test('an unreadable disk is no damage of a local copy: nobody is asked for a backup', (t) => {
    const { folder, open } = damaged(t);
    writeFileSync(join(folder, 'backups', 'state-hourly-000001-5.db'), 'not given now');
    assert.throws(() => open({ failsToRead: (path) => path.includes('hourly') }), { code: 'unavailable' });
  });
});

describe('a local copy of state.db that cannot be read', () => {
  test('a local copy of state.db that cannot be read is passed over for an older one', (t) => {
    const { folder, open, recovery } = damaged(t);
    mkdirSync(join(folder, 'backups', 'state-hourly-000002-6.db'));
    open().close();
    assert.match(recovery()?.copy ?? '', /state-hourly-000001-5\.db$/);
  });

  test('a local copy of state.db that cannot be read now prevents a new site, and a later start tries again', (t) => {
    const { folder, open, recovery } = damaged(t);
    rmSync(join(folder, 'backups', 'state-hourly-000001-5.db'));
    mkdirSync(join(folder, 'backups', 'state-hourly-000002-6.db'));
    rmSync(join(folder, 'state.db'));
    assert.throws(() => open(), /state-hourly-000002-6\.db is a folder where a file is expected/);
    assert.equal(recovery(), undefined);
  });
});
