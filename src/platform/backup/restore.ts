/**
 * Puts a backup back. It is opened and judged while the gateway may run; the next start takes it over before
 * anything is opened. Both survive a cut of power at any moment: either the old state is there, or the new one.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statfsSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { messageOf } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { parseTimestampMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import {
  isThere,
  keepStream,
  makePrivateFolder,
  packagePath,
  removeFile,
  removeTree,
  syncFolder,
  writePrivateFile,
} from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { foreignSchemaIn, isStateOfGateway, judgeCopy, judgeSchema } from '../sqlite/index.ts';
import { unseal } from './backup.ts';
import {
  DOCUMENT_FILE,
  DOCUMENTS_FOLDER,
  BackupError,
  type BackupInfo,
  BACKUPS_FOLDER,
  BEING_CHECKED,
  BEING_MADE,
  HISTORY_FILE,
  INFO_FILE,
  JOURNAL_FILE,
  JOURNAL_FOLDER,
  KEYS_FILE,
  OUTGOING,
  READ_BACK,
  RESTORE_DRAFT,
  STATE_FILE,
  TLS_FILE,
  TLS_FOLDER,
  UPLOADED,
} from './layout.ts';
import type { BackupOpener } from './opening.ts';
import { markRehearsal } from './rehearsal.ts';
import { ASIDE, READY, readyText, STAGE, TRIES, unusedName } from './take-over.ts';

/** A backup, open, and what it is for. */
interface RestoreOptions {
  file: FileHandle;
  password: string;
  dataDir: string;
  clock: Pick<Clock, 'wallMs'>;
  /** The restored copy sends nothing until an owner ends that. Default: it takes the place of the original. */
  isRehearsal?: boolean | undefined;
  limits?: Limits['backup'];
}

/**
 * Opens the backup beside the state of the gateway, for its next start to take over. Nothing has changed when
 * it throws. @throws BackupError
 */
export function prepareRestore(options: RestoreOptions): Promise<BackupInfo> {
  const { password, limits = LIMITS.backup } = options;
  return stage(options, async (draft) => {
    await open(options.file, password, draft, { limits, withHistory: true });
    const info = infoOf(draft);
    removeTree(join(draft, INFO_FILE));
    return info;
  });
}

/**
 * Opens a backup as a restore does and judges the state in it; of the history it reads what is there. Takes room for
 * its content, without the history, twice. @throws BackupError naming what is wrong
 */
export async function checkBackup(
  options: Omit<RestoreOptions, 'clock' | 'isRehearsal'>,
): Promise<BackupInfo> {
  const { file, password, dataDir, limits = LIMITS.backup } = options;
  const draft = join(dataDir, BACKUPS_FOLDER, BEING_CHECKED);
  removeTree(draft);
  makePrivateFolder(draft);
  try {
    await open(file, password, draft, { limits, withHistory: false });
    requireUsable(draft);
    return infoOf(draft);
  } finally {
    removeTree(draft);
  }
}

/** Unpacks its content into the folder. */
async function open(
  file: FileHandle,
  password: string,
  folder: string,
  { limits, withHistory }: { limits: Limits['backup']; withHistory: boolean },
): Promise<void> {
  const zip = join(folder, 'backup.zip');
  await unseal(file, zip, password, limits);
  await unpack(zip, folder, { mostBytes: limits.unpackedBytes, withHistory });
  removeTree(zip);
  infoOf(folder);
}

/**
 * The same with a plain copy of state.db, as the gateway makes them itself: before a migration, and every hour. The
 * keys of the gateway stay. @throws BackupError
 */
export function prepareCopyRestore(options: Omit<RestoreOptions, 'password' | 'limits'>): Promise<void> {
  return stage(options, async (draft) => {
    const state = join(draft, STATE_FILE);
    await keepStream(state, options.file.createReadStream({ start: 0, autoClose: false }));
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

/** One line of JSON. */
const INFO_BYTES_MAX = 65_536;

const SQLITE_HEADER = Buffer.from('SQLite format 3\0', 'latin1');

/** Fills a folder with what the next start takes over; complete or not at all. */
async function stage<Result>(
  { dataDir, clock, isRehearsal }: Pick<RestoreOptions, 'dataDir' | 'clock' | 'isRehearsal'>,
  fill: (draft: string) => Promise<Result>,
): Promise<Result> {
  const draft = join(dataDir, RESTORE_DRAFT);
  const ready = join(dataDir, STAGE);
  removeTree(draft);
  makePrivateFolder(draft);
  try {
    const result = await fill(draft);
    requireUsable(draft);
    if (isRehearsal) markRehearsal(draft, clock.wallMs());
    writePrivateFile(join(draft, READY), readyText(draft, unusedName(dataDir, ASIDE, clock.wallMs())));
    removeTree(ready);
    removeFile(join(dataDir, TRIES));
    renameSync(draft, ready);
    try {
      syncFolder(dataDir);
    } catch (error) {
      // After an error was returned, no later start may bring the old state.
      renameSync(ready, draft);
      throw error;
    }
    return result;
  } catch (error) {
    removeTree(draft);
    throw error;
  }
}

function requireUsable(folder: string): void {
  const state = join(folder, STATE_FILE);
  const migrations = packagePath('migrations', 'state');
  const fault = judgeCopy(state, migrations) ?? foreignSchemaIn(state, migrations);
  if (fault !== undefined) throw new BackupError(`The backup cannot be used here: ${fault}.`);
  const history = join(folder, HISTORY_FILE);
  const ofHistory = packagePath('migrations', 'history');
  const newer = isThere(history) && (judgeSchema(history, ofHistory) ?? foreignSchemaIn(history, ofHistory));
  if (newer) throw new BackupError(`The history in the backup cannot be used here: ${newer}.`);
}

async function unpack(
  path: string,
  stage: string,
  { mostBytes, withHistory }: { mostBytes: number; withHistory: boolean },
): Promise<void> {
  let zip: ZipFile;
  try {
    zip = await openPromise(path, { validateEntrySizes: true });
  } catch (cause) {
    throw unreadable(cause);
  }
  // Also without a document: those of the state before do not belong to this one.
  for (const folder of [TLS_FOLDER, DOCUMENTS_FOLDER]) mkdirSync(join(stage, folder), { mode: 0o700 });
  const { bavail, bsize } = statfsSync(stage);
  let roomBytes = bavail * bsize;
  let unpackedBytes = 0;
  const seen = new Set<string>();
  try {
    for await (const entry of zip.eachEntry()) {
      requireOrdinary(entry, seen);
      const isHistory = isOfHistory(entry.fileName);
      // The size of history is bounded by the disk alone; it is recognised by its name.
      if (withHistory || !isHistory) roomBytes -= entry.uncompressedSize;
      if (roomBytes < 0) throw new BackupError('The backup needs more room than is free on the disk.');
      if (!isHistory) unpackedBytes += entry.uncompressedSize;
      if (unpackedBytes > mostBytes) throw new BackupError(`The backup is larger than ${mostBytes} bytes.`);
      await write(zip, entry, isHistory && !withHistory ? undefined : join(stage, entry.fileName));
    }
  } catch (error) {
    throw unreadable(error);
  } finally {
    zip.close();
  }
  // Without records of its own the restored history must not go on with the records that are here.
  if (isThere(join(stage, HISTORY_FILE))) makePrivateFolder(join(stage, JOURNAL_FOLDER));
  const owners = readdirSync(join(stage, DOCUMENTS_FOLDER)).map((owner) => join(DOCUMENTS_FOLDER, owner));
  for (const folder of [TLS_FOLDER, ...owners, DOCUMENTS_FOLDER, JOURNAL_FOLDER])
    if (isThere(join(stage, folder))) syncFolder(join(stage, folder));
  syncFolder(stage);
}

/** The library's fault of a zip that it cannot read; errors of the disk have a system call, and are passed on. */
function unreadable(error: unknown): unknown {
  const isOfDisk = error instanceof Error && 'syscall' in error;
  if (error instanceof BackupError || isOfDisk) return error;
  return new BackupError(`The backup cannot be read: ${messageOf(error)}.`, { cause: error });
}

/** Shift of a Unix mode in the attributes of an entry. */
const MODE_SHIFT = 16;
const FILE_KIND = 0o170_000;
const PLAIN_FILE = 0o100_000;

/** @throws BackupError for names that no backup has, names that come twice, links, and notes too long for memory */
function requireOrdinary(
  { fileName, externalFileAttributes, uncompressedSize }: Entry,
  seen: Set<string>,
): void {
  if (!isExpected(fileName)) throw new BackupError(`The backup holds a strange file, ${fileName}.`);
  if (seen.has(fileName)) throw new BackupError(`The backup holds ${fileName} twice.`);
  seen.add(fileName);
  const kind = (externalFileAttributes >>> MODE_SHIFT) & FILE_KIND;
  if (kind !== 0 && kind !== PLAIN_FILE)
    throw new BackupError(`${fileName} in the backup is not a plain file.`);
  if ([INFO_FILE, KEYS_FILE].includes(fileName) && uncompressedSize > INFO_BYTES_MAX)
    throw new BackupError(`${fileName} in the backup is longer than ${INFO_BYTES_MAX} bytes.`);
}

function isExpected(name: string): boolean {
  const isPart = [INFO_FILE, STATE_FILE, KEYS_FILE].includes(name);
  const isOfFolder = isIn(TLS_FOLDER, name, TLS_FILE) || isIn(DOCUMENTS_FOLDER, name, DOCUMENT_FILE);
  return isPart || isOfFolder || isOfHistory(name);
}

function isOfHistory(name: string): boolean {
  return name === HISTORY_FILE || isIn(JOURNAL_FOLDER, name, JOURNAL_FILE);
}

function isIn(folder: string, name: string, file: RegExp): boolean {
  return name.startsWith(`${folder}/`) && file.test(name.slice(folder.length + 1));
}

/** Without a target it is read to its end, which finds what is missing or damaged. */
async function write(zip: ZipFile, entry: Entry, target: string | undefined): Promise<void> {
  const { fileName: name } = await zip.readLocalFileHeaderPromise(entry);
  if (name.toString('utf8').replaceAll('\\', '/') !== entry.fileName)
    throw new BackupError(`The backup calls ${entry.fileName} by two names.`);
  const content = checked(entry, await zip.openReadStreamPromise(entry));
  if (target === undefined) {
    for await (const _ of content);
    return;
  }
  await keepStream(target, content);
}

/** The library does not compare checksums. @throws BackupError at the end of other content than was packed */
async function* checked(
  { fileName, crc32: expected }: Entry,
  content: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let sum = 0;
  for await (const piece of content) {
    sum = crc32(piece, sum);
    yield piece;
  }
  if (sum !== expected) throw new BackupError(`${fileName} in the backup is damaged.`);
}

/** It is shown on terminals. */
const isVersion = (text: unknown): boolean => typeof text === 'string' && /^[\w.+~-]{1,64}$/.test(text);

function infoOf(stage: string): BackupInfo {
  for (const name of [INFO_FILE, STATE_FILE])
    if (!isThere(join(stage, name))) throw new BackupError(`The backup is incomplete: it has no ${name}.`);
  try {
    const info = JSON.parse(readFileSync(join(stage, INFO_FILE), 'utf8')) as Partial<BackupInfo> | null;
    const { version, made_at } = info ?? {};
    if (isVersion(version) && parseTimestampMs(String(made_at)) !== undefined) return info as BackupInfo;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw new BackupError(`${INFO_FILE} in the backup is not readable.`);
}

// A backup that is uploaded: first its bytes, then the request to take it over.

const NOTHING = 'No backup was uploaded.';

/** Keeps the bytes, in place of an upload before; nothing is kept when it throws. Resolves with their number. */
export function keepUpload(dataDir: string, stream: ReadableStream<Uint8Array>): Promise<number> {
  return keepStream(join(dataDir, BACKUPS_FOLDER, UPLOADED), stream);
}

/** Forgets the upload, if there is one. */
export function discardUpload(dataDir: string): void {
  removeTree(join(dataDir, BACKUPS_FOLDER, UPLOADED));
}

/**
 * Makes the upload ready for the next start, as the local command does it. Resolves with undefined for a plain copy of
 * state.db, which does not say when it was made. @throws BackupError
 */
export async function restoreUpload(
  dataDir: string,
  given: { password: string; isRehearsal: boolean },
  opener: Pick<BackupOpener, 'open'>,
): Promise<BackupInfo | undefined> {
  const path = join(dataDir, BACKUPS_FOLDER, UPLOADED);
  if (!existsSync(path)) throw new BackupError(NOTHING);
  try {
    const info = await opener.open({ kind: 'restore', path, ...given });
    removeFile(path);
    return info;
  } catch (error) {
    // Another caller took it over, or began to upload another one.
    throw existsSync(path) ? error : new BackupError(NOTHING, { cause: error });
  }
}

// Files that a power cut left of backups and restores. They may be as large as the whole history, and nothing continues them.

const UNFINISHED = [BEING_MADE, BEING_CHECKED, OUTGOING, READ_BACK, UPLOADED];

/** At a start, before anything is made or uploaded. What cannot be removed is logged and stays. */
export function removeLeftovers({ dataDir, log }: { dataDir: string; log: Log }): void {
  try {
    for (const path of leftoversIn(dataDir)) {
      removeTree(path);
      log.info('what was left of a backup was removed', { path });
    }
  } catch (error) {
    log.warn('what was left of a backup cannot be removed', { error });
  }
}

function leftoversIn(dataDir: string): string[] {
  const folder = join(dataDir, BACKUPS_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const paths = names
    .filter((name) => UNFINISHED.some((begin) => name.startsWith(begin)))
    .map((name) => join(folder, name));
  return [...paths, join(dataDir, RESTORE_DRAFT)].filter((path) => existsSync(path));
}
