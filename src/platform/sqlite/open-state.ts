/**
 * Opens state.db. A damaged one is built anew from its rows; what cannot be read of it comes from the newest good local
 * copy, as does all of a missing one. If neither gives a good database, the gateway does not start, and says what a person
 * can do.
 */
import { copyFileSync, renameSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { messageOf, UnrecoverableError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { type EpochMs, formatTimestamp } from '../../lib/time.ts';
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
import { failsToRead, isDamage, judgeCopy, provenDamageOf } from './damage.ts';
import { Database, openDatabase, type OpenOptions } from './database.ts';
import { diskFails } from '../../lib/system-fault.ts';
import { localCopies, type LocalCopy, removeSetAside, setAside, setAsideOf } from './local-copies.ts';
import { rebuild } from './rebuild.ts';

/** A recovery of state.db, which is shown to people for some days. */
interface StateRecovery {
  reason: 'damaged' | 'missing';
  /** The part taken from the copy: everything, or these tables; an empty list: nothing was lost. */
  fromCopy: 'everything' | readonly string[];
  /** The newest good copy. */
  copy: string | undefined;
  /** By the clock of that time. */
  copiedAtMs: EpochMs | undefined;
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
    if (!recover(options, 'missing')) clearPlace(options);
    return openDatabase({ ...options, wasOpen: false });
  }
  const damage = openOrDamage(options);
  if (damage instanceof Database) return damage;
  log.error('state.db is damaged', { path, error: damage });
  if (recover(options, 'damaged')) return openDatabase({ ...options, wasOpen: false });
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

/** The recovery in one sentence for a person. */
export function textOfRecovery({ fromCopy, copiedAtMs }: StateRecovery): string {
  if (fromCopy !== 'everything' && fromCopy.length === 0) return 'All rows could be read; nothing is lost.';
  const what = fromCopy === 'everything' ? 'everything' : `the tables ${fromCopy.join(', ')}`;
  return `From the copy of ${formatTimestamp(copiedAtMs ?? 0)}: ${what}; later changes of it are lost.`;
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

/** Puts a good database in place; false when none can be made, and nothing was changed. */
function recover(options: StateOptions, reason: StateRecovery['reason']): boolean {
  const { path, migrationsDir, clock, log, rename } = options;
  const copy = newestGood(options);
  const draft = `${path}.new`;
  const tables =
    reason === 'damaged'
      ? rebuild({ damaged: path, copy: copy?.path, target: draft, migrationsDir, clock, log })
      : undefined;
  if (!tables && !copy) return false;
  if (!tables && copy) copyFileSync(copy.path, draft);
  syncFile(draft);
  const fromCopy = tables ?? 'everything';
  const aside = clearPlace(options);
  // Before the rename: after a power cut in between the next start does both again.
  writeNote(
    {
      reason,
      fromCopy,
      copy: copy?.path,
      copiedAtMs: copy?.madeAtMs,
      aside,
      recoveredAtMs: clock.wallMs(),
    },
    options,
  );
  rename(draft, path);
  syncFolder(dirname(path));
  setAsideOf(path).slice(0, -LIMITS.state.damagedKept).forEach(removeSetAside);
  log.error('state.db was recovered; changes of what came from the copy are gone since the copy was made', {
    reason,
    from_copy: fromCopy,
    copy: copy?.path,
    copied_at: copy && formatTimestamp(copy.madeAtMs),
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
