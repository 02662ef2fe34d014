/**
 * Puts a backup back. It is opened and judged while the gateway may run; the next start takes it over before
 * anything is opened. Both survive a cut of power at any moment: either the old state is there, or the new one.
 */
import { createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { messageOf } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import {
  makePrivateFolder,
  packagePath,
  readPrivateFile,
  syncFolder,
  writePrivateFile,
} from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { isStateOfGateway, judgeCopy } from '../sqlite/index.ts';
import { unseal } from './container.ts';
import { BackupError, type BackupInfo, INFO_FILE, STATE_FILE, TLS_FOLDER } from './layout.ts';

const STAGE = 'restore';
const DRAFT = 'restore.new';
/** Says that the stage is complete, and where the state before it goes. */
const READY = 'ready';
const TLS_FILE = new RegExp(`^${TLS_FOLDER}/[a-z0-9-]+\\.pem$`);

/**
 * Opens the backup beside the state of the gateway, for its next start to take over. Nothing has changed when
 * it throws. @throws BackupError
 */
export function prepareRestore(options: {
  file: FileHandle;
  password: string;
  dataDir: string;
  clock: Clock;
  limits?: Limits['backup'];
}): Promise<BackupInfo> {
  const { file, password, limits = LIMITS.backup } = options;
  return stage(options, async (draft) => {
    const zip = join(draft, 'backup.zip');
    await unseal(file, zip, password, limits);
    await unpack(zip, draft, limits.unpackedBytes);
    remove(zip);
    const info = infoOf(draft);
    remove(join(draft, INFO_FILE));
    return info;
  });
}

/**
 * The same with a plain copy of state.db, as the gateway makes them itself: before a migration, and every hour. The
 * keys of the gateway stay. @throws BackupError
 */
export function prepareCopyRestore(options: {
  file: FileHandle;
  dataDir: string;
  clock: Clock;
}): Promise<void> {
  return stage(options, async (draft) => {
    const state = join(draft, STATE_FILE);
    const content = options.file.createReadStream({ start: 0, autoClose: false });
    await pipeline(content, createWriteStream(state, { mode: 0o600, flags: 'wx', flush: true }));
    if (!isStateOfGateway(state))
      throw new BackupError('The file is a database, but not a sound state.db of a gateway.');
    syncFolder(draft);
  });
}

/** Whether a file is a plain database instead of a sealed backup. */
export async function isPlainCopy(file: FileHandle): Promise<boolean> {
  const { buffer } = await file.read(Buffer.alloc(SQLITE_HEADER.length), 0, SQLITE_HEADER.length, 0);
  return buffer.equals(SQLITE_HEADER);
}

const SQLITE_HEADER = Buffer.from('SQLite format 3\0', 'latin1');

/** Fills a folder with what the next start takes over; complete or not at all. */
async function stage<Result>(
  { dataDir, clock }: { dataDir: string; clock: Clock },
  fill: (draft: string) => Promise<Result>,
): Promise<Result> {
  const draft = join(dataDir, DRAFT);
  const ready = join(dataDir, STAGE);
  remove(draft);
  makePrivateFolder(draft);
  try {
    const result = await fill(draft);
    const fault = judgeCopy(join(draft, STATE_FILE), packagePath('migrations', 'state'));
    if (fault !== undefined) throw new BackupError(`The backup cannot be used here: ${fault}.`);
    writePrivateFile(join(draft, READY), `before-restore-${Math.floor(clock.wallMs() / 1_000)}`);
    remove(ready);
    renameSync(draft, ready);
    syncFolder(dataDir);
    return result;
  } catch (error) {
    remove(draft);
    throw error;
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

async function unpack(path: string, stage: string, maximumBytes: number): Promise<void> {
  let zip: ZipFile;
  try {
    zip = await openPromise(path, { validateEntrySizes: true });
  } catch (cause) {
    throw new BackupError(`The backup cannot be read: ${messageOf(cause)}.`, { cause });
  }
  mkdirSync(join(stage, TLS_FOLDER), { mode: 0o700 });
  let unpackedBytes = 0;
  try {
    for await (const entry of zip.eachEntry()) {
      if (!isExpected(entry.fileName))
        throw new BackupError(`The backup holds a strange file, ${entry.fileName}.`);
      unpackedBytes += entry.uncompressedSize;
      if (unpackedBytes > maximumBytes)
        throw new BackupError(`The backup is larger than ${maximumBytes} bytes.`);
      await write(zip, entry, join(stage, entry.fileName));
    }
  } finally {
    zip.close();
  }
  syncFolder(join(stage, TLS_FOLDER));
  syncFolder(stage);
}

function isExpected(name: string): boolean {
  return name === INFO_FILE || name === STATE_FILE || TLS_FILE.test(name);
}

async function write(zip: ZipFile, entry: Entry, target: string): Promise<void> {
  const content = await zip.openReadStreamPromise(entry);
  // Neither of two entries with one name is to be believed.
  await pipeline(content, createWriteStream(target, { mode: 0o600, flags: 'wx', flush: true }));
}

function infoOf(stage: string): BackupInfo {
  for (const name of [INFO_FILE, STATE_FILE])
    if (!existsSync(join(stage, name))) throw new BackupError(`The backup is incomplete: it has no ${name}.`);
  return JSON.parse(readFileSync(join(stage, INFO_FILE), 'utf8')) as BackupInfo;
}

type Rename = (from: string, to: string) => void;

/** At the start, before anything is opened: takes a prepared backup over and keeps what was there beside it. */
export function applyRestore(
  { dataDir, log }: { dataDir: string; log: Log },
  rename: Rename = renameSync,
): void {
  const stage = join(dataDir, STAGE);
  const aside = readPrivateFile(join(stage, READY));
  if (aside !== undefined) {
    takeOver({ dataDir, stage, aside: join(dataDir, aside) }, rename);
    log.warn('backup restored; the state before it was kept', { aside: join(dataDir, aside) });
  }
  remove(stage);
}

/** Each step may be the last one before a cut of power; the next start goes on with what the stage still holds. */
function takeOver(
  { dataDir, stage, aside }: { dataDir: string; stage: string; aside: string },
  rename: Rename,
): void {
  makePrivateFolder(aside);
  for (const name of [STATE_FILE, TLS_FOLDER]) {
    if (!existsSync(join(stage, name))) continue;
    // The write-ahead log first: it must never be found beside another database.
    for (const part of [`${name}-shm`, `${name}-wal`, name])
      if (existsSync(join(dataDir, part))) rename(join(dataDir, part), join(aside, part));
    syncFolder(dataDir);
    rename(join(stage, name), join(dataDir, name));
    syncFolder(dataDir);
  }
}
