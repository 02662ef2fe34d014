/** How often state.db is copied on its own disk. */
import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { messageOf } from '../../../src/lib/errors.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { programEntry } from '../../../src/platform/processes/index.ts';
import {
  localCopies,
  openDatabase,
  releaseStartReserve,
  StateUpkeep,
  type SyncFile,
} from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

const HOUR_MS = 3_600_000;
const MIB = 1_048_576;

/** A database of about this size, tended; it changes before each hour. */
function tended(
  t: TestContext,
  sizeBytes: number,
  folder = temporaryFolder(t),
  sync?: SyncFile,
  onDamage = (fault: string): void => assert.fail(fault),
) {
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir, { recursive: true });
  writeFileSync(join(migrationsDir, '0001_first.sql'), 'CREATE TABLE entry (value BLOB NOT NULL) STRICT;');
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(folder, 'state.db');
  const database = openDatabase({ path, migrationsDir, clock, log, ...(sync && { sync }) });
  t.after(() => database.close());
  const insert = database.prepare<[number]>('INSERT INTO entry VALUES (zeroblob(?))');
  insert.run(sizeBytes);
  const upkeep = new StateUpkeep({
    database,
    dataDir: folder,
    migrationsDir,
    space: { isLow: false, room: { freeBytes: 1_024 * MIB, totalBytes: 1_024 * MIB, freeFiles: 1_000 } },
    entry: programEntry('platform/sqlite/upkeep-thread'),
    clock,
    log,
    metrics: createMetrics(),
    limits: LIMITS.state,
    onDamage,
  });
  t.after(() => upkeep.stop());
  upkeep.holdRoom();
  upkeep.start();
  const copies = (): number => localCopies(join(folder, 'backups')).length;
  return {
    copies,
    database,
    lines,
    upkeep,
    wait: (durationMs: number) => clock.advance(durationMs),
    /** Something changes, and so much time passes. */
    change: async (durationMs: number): Promise<void> => {
      insert.run(1);
      await clock.advance(durationMs);
    },
  };
}

test('a disk that refuses is reported, and tried again until it takes data', async (t) => {
  let fault: Error | undefined;
  const { database, change, wait } = tended(t, MIB, temporaryFolder(t), async () => {
    if (fault) throw fault;
  });
  await database.durable();
  assert.equal(database.failure, undefined);
  fault = Object.assign(new Error('EROFS: read-only file system, fdatasync'), { code: 'EROFS' });
  await change(0);
  await assert.rejects(database.durable(), /may have been stored/);
  const told = (): string => messageOf(database.failure);
  assert.match(told(), /The disk is read-only now, so nothing can be stored/);
  assert.equal(
    database.readOr('unknown', () => 'known'),
    'known',
  );
  assert.equal(
    database.readOr('unknown', () => {
      throw new Error('not given');
    }),
    'unknown',
  );
  fault = undefined;
  // A copy that is being made keeps it busy for a moment.
  await until(async () => {
    await wait(LIMITS.state.upkeepIntervalMs);
    return database.failure === undefined;
  });
});

test('a reserve that can neither be written nor removed ends nothing, and copies are made', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'start.reserve'));
  const { copies } = tended(t, MIB, folder);
  await until(() => copies() === 1);
});

test('a reserve that cannot be freed at a start on a full disk is reported, and ends nothing', (t) => {
  const folder = temporaryFolder(t);
  const { log, lines } = recordingLog(new TestClock());
  releaseStartReserve(folder, log);
  mkdirSync(join(folder, 'start.reserve'));
  releaseStartReserve(folder, log);
  assert.deepEqual(
    lines.map(({ message }) => message),
    ['the disk is full, and the room kept for a start cannot be used'],
  );
});

test('the reserved room in the log consists of no frames, which would be written once more', async (t) => {
  const folder = temporaryFolder(t);
  const { database, change, copies, lines } = tended(t, 1_000, folder);
  const logPath = join(folder, 'state.db-wal');
  await until(() => copies() === 1);
  assert.ok(statSync(logPath).size >= LIMITS.state.walBytes);
  await change(LIMITS.state.upkeepIntervalMs);
  database.checkpoint();
  await change(LIMITS.state.upkeepIntervalMs);
  const frames = database.prepare<[], { log: number }>('PRAGMA wal_checkpoint(NOOP)').get()?.log;
  assert.equal(frames, 1, 'of the change alone');
  const killed = join(folder, 'killed');
  mkdirSync(killed);
  for (const name of ['state.db', 'state.db-wal']) copyFileSync(join(folder, name), join(killed, name));
  const before = readFileSync(join(killed, 'state.db-wal'));
  const again = tended(t, 1_000, killed);
  await until(() => again.copies() === 1);
  assert.equal(
    again.database.prepare<[], { rows: number }>('SELECT count(*) AS rows FROM entry').get()?.rows,
    4,
  );
  const [log, pageBytes] = [readFileSync(join(killed, 'state.db-wal')), 4_096];
  assert.ok(log.subarray(20 * pageBytes).equals(before.subarray(20 * pageBytes)), 'written once');
  assert.deepEqual(
    [...lines, ...again.lines].filter(({ level }) => level !== 'info'),
    [],
  );
});

test('a small state.db is copied every hour in which it changed', async (t) => {
  const { copies, change } = tended(t, MIB);
  await until(() => copies() === 1);
  await change(HOUR_MS);
  await until(() => copies() === 2);
});

test('damage that a statement meets is judged within a moment, not with the next copy', async (t) => {
  const folder = temporaryFolder(t);
  const damages: string[] = [];
  const { copies, database, wait } = tended(t, MIB, folder, undefined, (fault) => void damages.push(fault));
  await until(() => copies() === 1);
  truncateSync(join(folder, 'state.db'), MIB / 2);
  database.prepare('PRAGMA shrink_memory').run();
  assert.throws(() => database.prepare('SELECT sum(length(hex(value))) FROM entry').all(), {
    code: 'unavailable',
  });
  await until(async () => {
    await wait(LIMITS.state.upkeepIntervalMs);
    return damages.length > 0;
  });
});

test('a state.db that cannot be looked at ends nothing', async (t) => {
  const { copies, database, lines, wait } = tended(t, MIB);
  await until(() => copies() === 1);
  database.close();
  await wait(HOUR_MS);
  assert.ok(lines.some(({ message }) => message === 'state.db could not be tended'));
});

test('a copy that failed is tried again after the hour, although nothing changed', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'backups'), '');
  const { copies, lines, upkeep, wait } = tended(t, MIB, folder);
  await until(() => lines.some(({ message }) => message === 'state.db could not be tended'));
  await until(() => upkeep.copyFault !== undefined);
  assert.match(upkeep.copyFault ?? '', /\/backups: ./, 'told, as nothing would mend damage');
  rmSync(join(folder, 'backups'));
  await wait(HOUR_MS);
  await until(() => copies() === 1 && upkeep.copyFault === undefined);
});

test('a large state.db is copied as often as its bytes allow, so that copies do not wear the card out', async (t) => {
  const { copies, change } = tended(t, 3 * LIMITS.state.copyBytesPerHour);
  await until(() => copies() === 1);
  for (let passed = 0; passed < 3; passed++) await change(HOUR_MS);
  assert.equal(copies(), 1);
  await change(HOUR_MS / 10);
  await until(() => copies() === 2);
});

test('a start copies state.db only when the newest copy on the disk is old', async (t) => {
  const folder = temporaryFolder(t);
  const first = tended(t, MIB, folder);
  await until(() => first.copies() === 1);
  await first.upkeep.stop();
  first.database.close();
  const second = tended(t, MIB, folder);
  await second.wait(LIMITS.state.upkeepIntervalMs);
  assert.equal(second.copies(), 1);
  await second.wait(LIMITS.state.copyIntervalMs);
  await until(async () => {
    await second.wait(LIMITS.state.upkeepIntervalMs);
    return second.copies() === 2;
  });
});
