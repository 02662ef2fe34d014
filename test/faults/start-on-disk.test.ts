/** What a disk that is full or read-only at a start does to it. Needs root, for disks of its own. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { openCertificates } from '../../src/gateway/certificates.ts';
import { missingForDisks } from '../../scripts/checks/faults/disk.ts';
import { GatewayError, UnrecoverableError } from '../../src/lib/errors.ts';
import { loadConfig } from '../../src/platform/config/index.ts';
import { removeFile, removeTree } from '../../src/platform/files/index.ts';
import { openDatabase, tryLockFolder } from '../../src/platform/sqlite/index.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../support/workspace.ts';

const canMount = process.getuid?.() === 0 && spawnSync('mount', ['--version']).error === undefined;
const skip = !canMount && 'needs root';
const MIB = 1_048_576;

function smallDisk(t: TestContext, sizeMib: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'tmpfs', folder]);
  t.after(() => {
    execFileSync('umount', ['--lazy', folder]);
    rmSync(folder, { recursive: true });
  });
  return folder;
}

/** A disk of 1 KiB blocks, as `mkfs.ext4` makes them below 512 MiB. */
function diskOfSmallBlocks(t: TestContext): string {
  const base = mkdtempSync(join(tmpdir(), 'gateway-disk-'));
  const [image, folder] = [join(base, 'image'), join(base, 'disk')];
  writeFileSync(image, '');
  truncateSync(image, 16 * MIB);
  execFileSync('mkfs.ext4', ['-q', '-F', '-b', '1024', '-m', '0', image]);
  mkdirSync(folder);
  execFileSync('mount', ['-o', 'loop', image, folder]);
  t.after(() => {
    execFileSync('umount', [folder]);
    rmSync(base, { recursive: true });
  });
  return folder;
}

/** Takes everything but so many bytes. */
function fillBut(folder: string, freeBytes: number): void {
  const [filler, room] = [join(folder, 'filler'), join(folder, 'room')];
  writeFileSync(room, Buffer.alloc(freeBytes, 1), { flush: true });
  assert.throws(() => writeFileSync(filler, Buffer.alloc(20 * MIB, 1), { flush: true }), { code: 'ENOSPC' });
  rmSync(room);
  execFileSync('sync', ['-f', folder]);
}

function instruments() {
  const clock = new TestClock();
  return { clock, ...recordingLog(clock) };
}

describe('a start', { skip }, () => {
  test('a start on a read-only disk is tried again, since the next one may succeed', (t) => {
    const { clock, log } = instruments();
    const dataDir = smallDisk(t, 1);
    const remount = (mode: string): void =>
      void execFileSync('mount', ['-o', `remount,${mode}`, dataDir], { stdio: 'pipe' });
    remount('ro');
    assert.throws(
      () => tryLockFolder({ dataDir, clock, log }),
      (error: Error) =>
        !(error instanceof UnrecoverableError) &&
        /The data folder .* cannot be used.*read-only/.test(error.message),
    );
    remount('rw');
    const lock = tryLockFolder({ dataDir, clock, log });
    assert.ok(lock);
    lock.release();
  });

  test('a start on a read-only disk reports each file that cannot be removed, with its code', (t) => {
    const dataDir = smallDisk(t, 1);
    const [file, folder] = [join(dataDir, 'file'), join(dataDir, 'folder')];
    writeFileSync(file, 'kept');
    mkdirSync(folder);
    writeFileSync(join(folder, 'inner'), 'kept');
    execFileSync('mount', ['-o', 'remount,ro', dataDir], { stdio: 'pipe' });
    assert.throws(() => removeFile(file), { code: 'EROFS' });
    assert.throws(() => removeTree(folder), { code: 'EROFS' });
  });

  test('a start that can make no keys on a full disk is tried again where only TLS is wanted', async (t) => {
    const { clock, log } = instruments();
    const dataDir = smallDisk(t, 1);
    const environment = { GATEWAY_DATA_DIR: dataDir, GATEWAY_HTTP: 'false' };
    const options = { config: loadConfig({ environment }), clock, log, version: '0.1.0' };
    const filler = join(dataDir, 'filler');
    assert.throws(() => writeFileSync(filler, Buffer.alloc(2 * MIB)), { code: 'ENOSPC' });
    await assert.rejects(
      openCertificates(options, undefined, () => undefined),
      (error: Error) => error instanceof GatewayError && /The disk is full.*Make room/.test(error.message),
    );
    rmSync(filler);
    // They are put back at their stop, so it comes before the disk goes.
    const stops: (() => unknown)[] = [];
    assert.ok(await openCertificates(options, undefined, (_, stop) => void stops.push(stop)));
    for (const stop of stops) await stop();
  });

  test('a start on a full disk goes on without the copy that an upgrade would need', (t) => {
    const { clock, log, lines } = instruments();
    const folder = smallDisk(t, 8);
    const migrationsDir = join(temporaryFolder(t), 'migrations');
    mkdirSync(migrationsDir);
    writeFileSync(join(migrationsDir, '0001_item.sql'), 'CREATE TABLE item (data BLOB NOT NULL) STRICT;');
    const [path, backupDir] = [join(folder, 'state.db'), join(folder, 'backups')];
    const open = () => openDatabase({ path, migrationsDir, backupDir, clock, log });
    const before = open();
    before.prepare<[Buffer]>('INSERT INTO item VALUES (?)').run(Buffer.alloc(3 * MIB, 1));
    before.close();
    writeFileSync(join(folder, 'filler'), Buffer.alloc(4 * MIB));
    writeFileSync(join(migrationsDir, '0002_note.sql'), 'CREATE TABLE note (text TEXT NOT NULL) STRICT;');

    const after = open();
    const rows = after.prepare<[], number>('SELECT length(data) FROM item').pluck().all();
    assert.deepEqual(rows, [3 * MIB]);
    assert.deepEqual(after.prepare('SELECT * FROM note').all(), []);
    after.close();
    assert.deepEqual(readdirSync(backupDir), [], 'nothing of the copy keeps the little room that there is');
    const told = lines.filter(({ level }) => level === 'error');
    assert.deepEqual(
      told.map(({ message }) => message),
      ['the database is not copied before its migration: make room, or its folder usable'],
    );
  });
});

describe('a database on a full disk of small blocks', { skip: missingForDisks().join(', ') || false }, () => {
  test('a database on a full disk of small blocks is opened or refused, and never ends the process by a fault of its index', (t) => {
    const folder = diskOfSmallBlocks(t);
    const migrationsDir = join(temporaryFolder(t), 'migrations');
    mkdirSync(migrationsDir);
    writeFileSync(join(migrationsDir, '0001_item.sql'), 'CREATE TABLE item (data BLOB NOT NULL) STRICT;');
    const child = join(import.meta.dirname, '../support/children/opens-database.ts');
    const open = () =>
      spawnSync(process.execPath, [...process.execArgv, child, join(folder, 'state.db'), migrationsDir], {
        encoding: 'utf8',
      });
    assert.equal(open().stdout, 'opened');
    const outcomes = [0, 8, 16, 32, 64].map((freeKib) => {
      fillBut(folder, freeKib * 1_024);
      const { stdout, signal } = open();
      rmSync(join(folder, 'filler'));
      return { freeKib, signal, isExpected: ['opened', 'ENOSPC', 'SQLITE_FULL'].includes(stdout) };
    });
    assert.deepEqual(
      outcomes.filter(({ signal, isExpected }) => signal !== null || !isExpected),
      [],
    );
    assert.equal(open().stdout, 'opened', 'with room again');
  });
});
