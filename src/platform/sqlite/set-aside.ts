/** A database file that is damaged is never deleted: it is renamed, for a person to look at. */
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import type { Clock } from '../clock/index.ts';
import { isDamage } from './damage.ts';
import { type Database, openDatabase, type OpenOptions } from './database.ts';

/**
 * Opens a database that the gateway can do without: a file that is no database, is damaged, or was marked by
 * `markDamaged` is renamed to `<name>.damaged-<Unix seconds>`, kept for a person to look at, and a new one takes its place.
 * @throws NewerDatabaseError, and everything else that is no damage
 */
export function openOrSetAside(options: OpenOptions): Database {
  if (existsSync(options.path + MARK)) {
    const aside = existsSync(options.path) ? setAside(options.path, options.clock) : undefined;
    rmSync(options.path + MARK);
    options.log.error('damaged database set aside, a new one was begun', { aside });
  }
  try {
    return openDatabase(options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    const aside = setAside(options.path, options.clock);
    options.log.error('damaged database set aside, a new one was begun', { aside, error });
    return openDatabase(options);
  }
}

/** Says in the file system that the next start must set the database aside: it is damaged, and still open. */
export function markDamaged(path: string): void {
  writeFileSync(path + MARK, '');
}

const MARK = '.set-aside';

/** Renames a closed database with its companions; returns the new path. */
export function setAside(path: string, clock: Clock): string {
  const aside = `${path}.damaged-${Math.floor(clock.wallMs() / 1_000)}`;
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}
