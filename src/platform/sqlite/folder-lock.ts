/**
 * One gateway per data folder. The lock is an exclusive transaction on a small SQLite file: the kernel ties it to the file
 * itself, so that it also works through another spelling of the path, a link, a bind mount or another container, and it
 * ends with the process. A text file beside it names the holder for people, and to the next start one that was killed.
 */
import { accessSync, constants, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { messageOf, unavailable, UnrecoverableError } from '../../lib/errors.ts';
import { inWords, unlessRefused } from '../../lib/system-fault.ts';
import { type DurationMs, formatTimestamp } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import {
  isLasting,
  makePrivateFolder,
  readPlainFile,
  removeFile,
  requireUsableFile,
} from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { isDamage } from './damage.ts';
import { openFile } from './native.ts';

const LOCK_FILE = 'gateway.lock';
/** A file of its own, because closing the lock file anywhere in this process would release the lock (fcntl(2)). */
const HOLDER_FILE = 'gateway.lock.holder';
const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const RETRY_MS = 100;

/** The process that held the folder before, and did not give it back. */
export interface KilledHolder {
  /** It served, so it had all files of the folder open. */
  hasServed: boolean;
  /** No power was lost since: whatever it wrote is there. */
  isOfThisBoot: boolean;
}

/** The lock of a data folder. */
export interface FolderLock {
  /** Undefined: the last holder gave it back, or there was none. */
  killed: KilledHolder | undefined;
  /** Notes that all files are open, and the port for a person who meets the lock. */
  serves(httpPort: number): void;
  release(): void;
}

interface FolderLockOptions {
  /** Created if absent. */
  dataDir: string;
  clock: Clock;
  log: Log;
  /** How long to wait for a holder that is about to end. */
  waitMs: DurationMs;
}

/**
 * @throws GatewayError saying who holds it, or that the disk takes no writes or gives no locks now; UnrecoverableError when
 * no gateway can live in the folder. Whoever holds it ends some day: a killed process as well, as soon as a disk that hangs
 * lets it go, and nobody may be there then to start the service.
 */
export async function lockFolder(options: FolderLockOptions): Promise<FolderLock> {
  const { clock, waitMs } = options;
  const untilMs = clock.monotonicMs() + waitMs;
  for (;;) {
    const lock = tryLockFolder(options);
    if (lock) return lock;
    if (clock.monotonicMs() >= untilMs) {
      requireLocks(options.dataDir);
      throw unavailable(lockedMessage(options.dataDir));
    }
    await clock.sleep(RETRY_MS);
  }
}

/** Undefined when another process holds it. @throws UnrecoverableError as `lockFolder` */
export function tryLockFolder({
  dataDir,
  clock,
  log,
}: Omit<FolderLockOptions, 'waitMs'>): FolderLock | undefined {
  requireUsableFolder(dataDir);
  const path = join(dataDir, LOCK_FILE);
  requireUsableFile(path);
  let handle: BetterSqlite3.Database | undefined;
  try {
    handle = lockedFile(path);
  } catch (error) {
    if (!isDamage(error)) throw unavailable(refusedMessage(path, inWords(error)), { cause: error });
    // The content is damaged and worthless. Nobody holds it: a held one is busy before it is read.
    truncateSync(path);
    return tryLockFolder({ dataDir, clock, log });
  }
  if (!handle) return undefined;
  const holderFile = join(dataDir, HOLDER_FILE);
  const sentence = `process ${process.pid} on host ${hostname()}, running since ${formatTimestamp(clock.wallMs())}`;
  const killed = killedHolder(holderFile);
  const tell = (text: string): void => {
    try {
      removeFile(holderFile);
      writeFileSync(holderFile, `${text}\n${bootId()}\n`, { mode: 0o600 });
    } catch (error) {
      log.warn('who holds the data folder could not be noted', { path: holderFile, error });
    }
  };
  tell(sentence);
  return {
    killed,
    serves: (httpPort) => tell(`${sentence}${SERVES}${httpPort}`),
    release: () => {
      if (!handle.open) return;
      try {
        removeFile(holderFile);
      } catch (error) {
        log.warn('who held the data folder stays noted', { path: holderFile, error });
      } finally {
        handle.close();
      }
    },
  };
}

const SERVES = ', HTTP on port ';

/** What the file of a holder says that did not remove it. After a power cut it may be empty. */
function killedHolder(holderFile: string): KilledHolder | undefined {
  const text = textOf(holderFile);
  if (text === undefined) return undefined;
  return { hasServed: text.includes(SERVES), isOfThisBoot: text.endsWith(`\n${bootId()}\n`) };
}

/** Undefined when it is missing or cannot be read: a loss after a kill may go unnamed then, and nothing else depends on it. */
function textOf(holderFile: string): string | undefined {
  try {
    return readPlainFile(holderFile).toString('utf8');
  } catch {
    return undefined;
  }
}

/** Unknown is not the same boot. */
function bootId(): string {
  return unlessRefused(
    () => readFileSync(BOOT_ID, 'utf8').trim(),
    () => `unknown to ${process.pid}`,
  );
}

/** The file, open and locked until it is closed; undefined when it is locked already. @throws SqliteError */
function lockedFile(path: string): BetterSqlite3.Database | undefined {
  const handle = openFile(path, { timeout: 0 });
  try {
    // Locks without writing, not even a journal, so it works on a full disk.
    handle.pragma('journal_mode = MEMORY');
    handle.exec('BEGIN EXCLUSIVE');
    return handle;
  } catch (error) {
    handle.close();
    if (error instanceof BetterSqlite3.SqliteError && error.code.startsWith('SQLITE_BUSY')) return undefined;
    throw error;
  }
}

/**
 * A file system that gives no locks is, to SQLite, one whose file is locked by somebody else. There nobody gets a lock of
 * a file that is new, either. @throws GatewayError then
 */
function requireLocks(dataDir: string): void {
  const path = join(dataDir, `${LOCK_FILE}.trial-${process.pid}`);
  const trial = (): boolean => {
    try {
      const handle = lockedFile(path);
      handle?.close();
      return handle !== undefined;
    } finally {
      removeFile(path);
    }
  };
  // A disk that takes no further file does not tell.
  if (unlessRefused(trial, () => true)) return;
  throw unavailable(
    refusedMessage(
      join(dataDir, LOCK_FILE),
      'the system gives no locks here, as a network drive without its lock service, or one with too many of them',
    ),
  );
}

const refusedMessage = (path: string, reason: string): string =>
  `${resolve(path)}, by which a gateway makes sure to be the only one, cannot be locked: ${reason}`;

function requireUsableFolder(dataDir: string): void {
  const path = resolve(dataDir);
  try {
    makePrivateFolder(path);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    // A full disk may have room at the next try.
    if (cause instanceof Error && 'code' in cause && ['ENOSPC', 'EDQUOT', 'EIO'].includes(String(cause.code)))
      throw cause;
    const user = process.getuid?.() ?? 'unknown';
    const sentence =
      `The data folder ${path} cannot be used by user ${user} (${messageOf(cause)}). ` +
      'Make it a folder that this user may write to, or name another one with GATEWAY_DATA_DIR.';
    // A file system may be read-only after a fault, or still be checked: it may take writes later.
    if (!isLasting(cause, constants.R_OK | constants.W_OK | constants.X_OK))
      throw new Error(sentence, { cause });
    throw new UnrecoverableError(sentence, { cause });
  }
}

function lockedMessage(dataDir: string): string {
  return (
    `Another gateway uses the data folder ${resolve(dataDir)}: ${holderOf(dataDir)}. Nothing was changed. ` +
    'Stop it first, or name another folder with GATEWAY_DATA_DIR.'
  );
}

function holderOf(dataDir: string): string {
  const [sentence] = textOf(join(dataDir, HOLDER_FILE))?.split('\n') ?? [];
  return sentence || 'an unknown process';
}
