/** A data folder as a gateway leaves it, and a sealed zip of anything. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { Encrypter } from 'age-encryption';
import { ZipFile } from 'yazl';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import {
  type Backup,
  type BackupInfo,
  openBackup,
  prepareRestore,
} from '../../../src/platform/backup/index.ts';
import type { Database } from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

export const PASSWORD = 'a long sentence';

/** With little work for the password. */
const CHEAP: Limits['backup'] = { ...LIMITS.backup, workFactor: 2 };

export interface Home {
  dataDir: string;
  database: Database;
  clock: TestClock;
  log: ReturnType<typeof recordingLog>['log'];
  /** With a history: the path of its database. */
  open: (password?: string, historyPath?: string) => Promise<Backup>;
  backup: (password?: string) => Promise<Buffer>;
  /** A sound state.db, closed. */
  stateBytes: () => Buffer;
  restore: (bytes: Uint8Array, password?: string, unpackedBytes?: number) => Promise<BackupInfo>;
  /** The restored copy sends nothing. */
  rehearse: (bytes: Uint8Array) => Promise<BackupInfo>;
}

/** With one site of that name, and keys. */
export function makeHome(test: Pick<TestContext, 'after'>, siteName: string): Home {
  const dataDir = join(temporaryFolder(test), 'data');
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const database = openState(dataDir, clock, log);
  test.after(() => database.close());
  rename(database, siteName);
  mkdirSync(join(dataDir, 'tls'));
  writeFileSync(join(dataDir, 'tls', 'authority.pem'), `key of ${siteName}`);
  const secretKeysPath = join(dataDir, '..', 'secrets.key');
  writeFileSync(secretKeysPath, `${Buffer.alloc(32, siteName).toString('base64')}\n`);
  const options = { database, dataDir, secretKeysPath, clock, log, version: '9.9.9', limits: CHEAP };
  let count = 0;
  const restored = async (bytes: Uint8Array, how: Partial<Parameters<typeof prepareRestore>[0]>) => {
    const path = join(dataDir, '..', `given-${++count}.backup`);
    writeFileSync(path, bytes);
    const file = await open(path);
    try {
      return await prepareRestore({ file, password: PASSWORD, dataDir, clock, limits: CHEAP, ...how });
    } finally {
      await file.close();
    }
  };
  return {
    dataDir,
    database,
    clock,
    log,
    open: (password = PASSWORD, historyPath) => openBackup({ ...options, historyPath }, password),
    backup: async (password = PASSWORD) => {
      const { stream, ended } = await openBackup(options, password);
      const bytes = await buffer(stream);
      await ended;
      return bytes;
    },
    stateBytes: () => {
      const path = join(dataDir, '..', `state-${++count}.db`);
      database.prepare('VACUUM INTO ?').run(path);
      return readFileSync(path);
    },
    restore: (bytes, password = PASSWORD, unpackedBytes = LIMITS.backup.unpackedBytes) =>
      restored(bytes, { password, limits: { ...CHEAP, unpackedBytes } }),
    rehearse: (bytes) => restored(bytes, { isRehearsal: true }),
  };
}

export function openState(dataDir: string, clock: TestClock, log: Home['log']): Database {
  mkdirSync(dataDir, { recursive: true });
  return openMigrated('state', { path: join(dataDir, 'state.db'), clock, log });
}

export function rename(database: Database, siteName: string): void {
  database.prepare('DELETE FROM site').run();
  database
    .prepare(
      "INSERT INTO site (id, name, timezone, created_at_ms) VALUES ('3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', ?, 'UTC', 0)",
    )
    .run(siteName);
}

export function siteName(database: Database): unknown {
  return database.prepare<[], { name: string }>('SELECT name FROM site').get()?.name;
}

/** A zip of these entries, sealed as a backup is. A `__` in a name becomes `..`, which no honest writer takes. */
export async function sealed(entries: readonly [name: string, content: Uint8Array][]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of entries)
    zip.addBuffer(content, name, { mtime: new Date(0), mode: 0o600, compress: true });
  zip.end();
  let bytes = (await buffer(zip.outputStream)).toString('latin1');
  // Whole names alone: two such bytes may stand next to each other in packed content, too.
  for (const [name] of entries)
    if (name.includes('__')) bytes = bytes.replaceAll(name, name.replaceAll('__', '..'));
  return sealedWith(PASSWORD, Buffer.from(bytes, 'latin1'));
}

/** As any program seals it that speaks `age`. */
export async function sealedWith(password: string, content: Uint8Array, workFactor = 2): Promise<Buffer> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(password);
  encrypter.setScryptWorkFactor(workFactor);
  return Buffer.from(await encrypter.encrypt(content));
}
