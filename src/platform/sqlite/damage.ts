/** Telling whether a database file is damaged, and whether a copy can take the place of ours. */
import BetterSqlite3 from 'better-sqlite3';
import { requireNoObstacle } from '../files/index.ts';
import { requireRoomForIndex } from './index-room.ts';
import { readMigrations } from './migrations.ts';

/** Extended codes such as SQLITE_CORRUPT_INDEX included. */
const DAMAGE_CODE = /^SQLITE_(NOTADB|CORRUPT)/;

/** Whether the error, or one that it was caused by, says that a database is damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // From another thread comes a plain Error with the same code.
  return ('code' in error && DAMAGE_CODE.test(String(error.code))) || isDamage(error.cause);
}

/** Rows that a rule of their table refuses; the file is sound, and they can be told apart from the others. */
const ROW_FAULT =
  /^(CHECK constraint failed in|NULL value in|non-\w+ value in|NUMERIC value in|TEXT value in) /;
const FAULTS_READ = 100;

/**
 * The first damage in a database, undefined when there is none. Reads the whole file, which takes minutes on a large
 * one: only for a small one, or one that failed already.
 */
export function damageOf(path: string): string | undefined {
  return readClosed(path, damageOfOpen);
}

function damageOfOpen(handle: BetterSqlite3.Database): string | undefined {
  try {
    return damageIn(handle);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return (error as Error).message;
  }
}

/** Reads the whole file. @throws Error with the code of SQLite for a damaged database */
export function requireSound(handle: BetterSqlite3.Database): void {
  const damage = damageIn(handle);
  if (damage !== undefined) throw new BetterSqlite3.SqliteError(damage, 'SQLITE_CORRUPT');
}

function damageIn(handle: BetterSqlite3.Database): string | undefined {
  const faults = handle.prepare<[], string>(`PRAGMA quick_check(${FAULTS_READ})`).pluck().all();
  return faults.find((fault) => fault !== 'ok' && !ROW_FAULT.test(fault));
}

/**
 * Why a closed copy of a database cannot take the place of ours: its damage, or a schema newer than the
 * migrations. Undefined when it can. Reads the whole file.
 */
export function judgeCopy(path: string, migrationsDir: string): string | undefined {
  return readClosed(path, (handle) => faultIn(handle, migrationsDir));
}

/** As `judgeCopy` of a copy just made of ours: nothing may be amiss, down to the last reference between rows. */
export function faultOfCopy(path: string, migrationsDir: string): string | undefined {
  return readClosed(path, (handle) => faultIn(handle, migrationsDir) ?? brokenReferenceIn(handle));
}

/** As `judgeCopy`, of the schema alone: for a database whose damage is mended where it is opened. */
export function judgeSchema(path: string, migrationsDir: string): string | undefined {
  return readClosed(path, (handle) => {
    try {
      return newerIn(handle, migrationsDir);
    } catch (error) {
      if (!isDamage(error)) throw error;
      return undefined;
    }
  });
}

function faultIn(handle: BetterSqlite3.Database, migrationsDir: string): string | undefined {
  const damage = damageOfOpen(handle);
  return damage === undefined ? newerIn(handle, migrationsDir) : `its database is damaged (${damage})`;
}

function newerIn(handle: BetterSqlite3.Database, migrationsDir: string): string | undefined {
  const schema = handle.pragma('user_version', { simple: true }) as number;
  const known = readMigrations(migrationsDir).length;
  return schema > known ? `it is of a newer version (schema ${schema}, this one knows ${known})` : undefined;
}

function brokenReferenceIn(handle: BetterSqlite3.Database): string | undefined {
  const [broken] = handle.pragma('foreign_key_check') as { table: string; parent: string }[];
  return broken && `a row of ${broken.table} refers to nothing in ${broken.parent}`;
}

/** Whether a closed database has the tables that every state.db has, of whatever version; false for a damaged one too. */
export function isStateOfGateway(path: string): boolean {
  return readClosed(path, (handle) => {
    try {
      const found = handle
        .prepare<[], number>(
          `SELECT count(*) FROM sqlite_schema WHERE name IN ('site', 'device', 'access_token')`,
        )
        .pluck()
        .get();
      return found === 3;
    } catch (error) {
      if (isDamage(error)) return false;
      throw error;
    }
  });
}

function readClosed<Result>(path: string, read: (handle: BetterSqlite3.Database) => Result): Result {
  requireNoObstacle(path);
  requireRoomForIndex(path);
  const handle = new BetterSqlite3(path, { fileMustExist: true });
  try {
    return read(handle);
  } finally {
    handle.close();
  }
}
