/**
 * Closes a database that could not be opened. SQLite moves what the write-ahead log holds into the file and removes the log.
 * Where the index of the log could not be opened first, and then only for reading, it moves nothing and removes the log all
 * the same. A log that is left is read by the next opening, whether or not it was moved.
 */
import { linkSync, renameSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { unlessRefused } from '../../lib/system-fault.ts';
import { isGone, removeFile } from '../files/index.ts';

/** The log stays what it was, or is put back; nobody may have written into the file meanwhile. */
export function closeUnopened(handle: BetterSqlite3.Database, path: string): void {
  const log = `${path}-wal`;
  const kept = `${log}.kept`;
  const isKept = hasLinked(log, kept);
  try {
    handle.close();
  } finally {
    if (isKept && isGone(log)) renameSync(kept, log);
    else if (isKept) removeFile(kept);
  }
}

/** False where there is no log, or the file system has no links. */
function hasLinked(log: string, kept: string): boolean {
  const link = (): boolean => {
    removeFile(kept);
    linkSync(log, kept);
    return true;
  };
  return unlessRefused(link, () => false);
}
