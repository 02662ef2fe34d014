/**
 * Opens state.db. If it is damaged or missing, the newest good local copy takes its place. If it is damaged and there is no
 * good copy, the gateway does not start, and says what a person can do.
 */
import { copyFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, UnrecoverableError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import {
  isThere,
  readNote,
  removeFile,
  requireUsableFile,
  syncFile,
  syncFolder,
  writePrivateFile,
} from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { isDamage, judgeCopy, provenDamageOf } from './damage.ts';
import { Database, openDatabase, type OpenOptions } from './database.ts';
import { diskFails } from '../../lib/system-fault.ts';
import { localCopies, type LocalCopy } from './local-copies.ts';
import { failsToRead } from './read-fault.ts';
import { removeSetAside, setAside, setAsideOf } from './set-aside.ts';

/** A recovery of state.db, which is shown to people for some days. */
interface StateRecovery {
  reason: 'damaged' | 'missing';
  /** The copy that took its place. */
  copy: string;
  /** By the clock of that time. */
  copiedAtMs: EpochMs;
  /** Path of the damaged file. */
  aside: string | undefined;
  recoveredAtMs: EpochMs;
}

const NOTE = 'state-recovery.json';
const TOLD_INTERVAL_MS = 3_600_000;

interface Disk {
  rename: (from: string, to: string) => void;
  failsToRead: (path: string) => boolean;
}

type StateOptions = OpenOptions & Disk & { backupDir: string };

/**
 * @throws UnrecoverableError naming file and remedy when neither state.db nor a copy of it can be used; GatewayError
 * unavailable when the disk cannot be read now: it may be well at the next start
 */
export function openState(given: OpenOptions & { backupDir: string }, disk: Partial<Disk> = {}): Database {
  const options: StateOptions = { rename: renameSync, failsToRead, ...disk, ...given, isFirst: true };
  const { path, log } = options;
  for (const suffix of ['', '-wal', '-shm']) requireUsableFile(path + suffix);
  if (isMissing(path)) {
    if (recover(options, 'missing')) return openDatabase(options);
    clearPlace(options);
    return openDatabase(options);
  }
  const damage = openOrDamage(options);
  if (damage instanceof Database) return damage;
  log.error('state.db is damaged', { path, error: damage });
  if (recover(options, 'damaged')) return openDatabase(options);
  throw new UnrecoverableError(
    `${path} is damaged (${messageOf(damage)}) and there is no good copy in ${options.backupDir}. ` +
      'Put a backup back with `energy-gateway restore <file>`; or, to begin a new site without anything of the old ' +
      `one, move ${path} away.`,
    { cause: damage },
  );
}

/** Damage that is not found again was a read that failed. */
function openOrDamage(options: StateOptions): Database | Error {
  let damage: Error | undefined;
  for (let look = 0; look < 2; look++)
    try {
      return openDatabase({ ...options, isChecked: true });
    } catch (error) {
      if (!isDamage(error)) throw error;
      damage = error as Error;
      if (options.failsToRead(options.path)) throw diskFails(damage);
    }
  // It may be of the copy that is made before a migration, which costs ours nothing.
  const proven = provenDamageOf(options.path);
  if (proven === undefined) throw diskFails(damage);
  return damage as Error;
}

/** The last recovery, as long as its note exists; an unreadable note is logged. */
export function lastRecovery(dataDir: string, log: Log): StateRecovery | undefined {
  const path = join(dataDir, NOTE);
  const sentence = 'the note of a recovery cannot be read, so nobody is told of one';
  const note = readNote(path, (error) => log.warnLimited(path, TOLD_INTERVAL_MS, sentence, { path, error }));
  return note as StateRecovery | undefined;
}

/**
 * True for an empty file, too: a power cut may leave one, or a person by mistake. SQLite removes a log beside it, whatever
 * the log holds.
 */
function isMissing(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0;
}

/** Clears the place of state.db. If the file or its log has content, both are set aside; returns the new path. */
function clearPlace({ path, clock, log }: Pick<OpenOptions, 'path' | 'clock' | 'log'>): string | undefined {
  const hasContent = isThere(path) && ['', '-wal'].some((suffix) => !isMissing(path + suffix));
  const aside = hasContent ? setAside(path, clock) : undefined;
  for (const suffix of ['', '-wal', '-shm']) removeFile(path + suffix);
  if (aside !== undefined) log.error('what was left of state.db was set aside', { aside });
  return aside;
}

/** Puts the newest good copy in place; false when there is none, and nothing was changed. */
function recover(options: StateOptions, reason: StateRecovery['reason']): boolean {
  const { path, clock, log, rename } = options;
  const copy = newestGood(options);
  if (!copy) return false;
  const draft = `${path}.new`;
  copyFileSync(copy.path, draft);
  syncFile(draft);
  const aside = clearPlace(options);
  // Before the rename: after a power cut in between the next start does both again.
  writeNote(
    { reason, copy: copy.path, copiedAtMs: copy.madeAtMs, aside, recoveredAtMs: clock.wallMs() },
    options,
  );
  rename(draft, path);
  syncFolder(dirname(path));
  setAsideOf(path).slice(0, -LIMITS.state.damagedKept).forEach(removeSetAside);
  log.error('state.db was replaced by its newest good copy; changes after it are gone', {
    reason,
    copy: copy.path,
    copied_at: formatTimestamp(copy.madeAtMs),
    aside,
  });
  return true;
}

/** @throws Error when none is good and one could not be read: that one may be good, so no new site is begun */
function newestGood({ backupDir, migrationsDir, log, failsToRead }: StateOptions): LocalCopy | undefined {
  let failure: { error: unknown } | undefined;
  for (const copy of localCopies(backupDir)) {
    try {
      const fault = judgeCopy(copy.path, migrationsDir);
      if (fault === undefined) return copy;
      if (failsToRead(copy.path)) throw diskFails();
      log.warn('a local copy cannot be used', { copy: copy.path, fault });
    } catch (error) {
      failure ??= { error };
      log.warn('a local copy cannot be read', { copy: copy.path, error });
    }
  }
  if (failure) throw failure.error;
  return undefined;
}

function writeNote(recovery: StateRecovery, { path, log }: Pick<OpenOptions, 'path' | 'log'>): void {
  const note = join(dirname(path), NOTE);
  try {
    writePrivateFile(note, JSON.stringify(recovery));
  } catch (error) {
    log.warn('the note of a recovery could not be written', { path: note, error });
  }
}
