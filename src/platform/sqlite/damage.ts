/** Whether a database file is damaged, and whether a copy can replace ours. */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { hasCode } from '../../lib/system-fault.ts';
import { readMigrations } from './migrations.ts';
import { withConnection } from './native.ts';

/** Extended codes such as SQLITE_CORRUPT_INDEX included. */
const DAMAGE_CODE = /^SQLITE_(NOTADB|CORRUPT)/;

/** SQLite has no code of its own for a damaged number of the format in the header. */
const UNKNOWN_FORMAT = 'unsupported file format';

/** Whether the error, or one of its causes, says that a database is damaged. */
export function isDamage(error: unknown): boolean {
  // By code or text, because from another thread comes a plain Error with the same ones.
  return hasCode(error, DAMAGE_CODE) || (error instanceof Error && error.message === UNKNOWN_FORMAT);
}

/** The result of `read`, or of `onDamage` when it meets damage. */
function unlessDamaged<Result>(read: () => Result, onDamage: (error: Error) => Result): Result {
  try {
    return read();
  } catch (error) {
    if (!isDamage(error)) throw error;
    return onDamage(error as Error);
  }
}

/**
 * The first damage in a database, rows that violate the CHECKs of their table included; undefined when there is none. Reads the whole file, which may take minutes: only for a
 * small database, or one that failed already.
 */
export function damageOf(path: string): string | undefined {
  return withConnection(path, (handle) => damageOfOpen(handle));
}

/**
 * As `damageOf`, also of indexes, for a database that met damage: SQLite calls a read that failed the same, and damage of
 * another file, into which it copies. Reads all of it several times.
 */
export function provenDamageOf(path: string): string | undefined {
  return unlessDamaged(
    () => withConnection(path, (handle) => damageOfOpen(handle, 'integrity_check')),
    ({ message }) => message,
  );
}

function damageOfOpen(handle: BetterSqlite3.Database, check: Check = 'quick_check'): string | undefined {
  return unlessDamaged(
    () => damageIn(handle, check),
    ({ message }) => message,
  );
}

/** Reads the whole file. @throws Error with the code of SQLite for a damaged database */
export function requireSound(handle: BetterSqlite3.Database): void {
  const damage = damageIn(handle);
  if (damage !== undefined) throw new BetterSqlite3.SqliteError(damage, 'SQLITE_CORRUPT');
}

type Check = 'quick_check' | 'integrity_check';

function damageIn(handle: BetterSqlite3.Database, check: Check = 'quick_check'): string | undefined {
  const fault = handle.prepare<[], string>(`PRAGMA ${check}(1)`).pluck().get();
  if (fault !== 'ok') return fault;
  // A migration sets the version together with its tables.
  const version = handle.pragma('user_version', { simple: true }) as number;
  const tables = handle.prepare<[], number>('SELECT count(*) FROM sqlite_schema').pluck().get() ?? 0;
  return version < 1 && tables > 0 ? `its schema has the version ${version}` : undefined;
}

/** Why a closed copy cannot replace our database: damage, or a newer schema. Undefined when it can. Reads the whole file. */
export function judgeCopy(path: string, migrationsDir: string): string | undefined {
  return withConnection(path, (handle) => faultIn(handle, migrationsDir));
}

/** As `judgeCopy`, for a copy just made of ours: references between rows are checked, too. */
export function faultOfCopy(path: string, migrationsDir: string): string | undefined {
  return withConnection(path, (handle) => faultIn(handle, migrationsDir) ?? brokenReferenceIn(handle));
}

/** As `judgeCopy`, but only the schema: for a database whose damage is repaired when it is opened. */
export function judgeSchema(path: string, migrationsDir: string): string | undefined {
  return withConnection(path, (handle) =>
    unlessDamaged(
      () => newerIn(handle, migrationsDir),
      () => undefined,
    ),
  );
}

interface SchemaPart {
  type: string;
  name: string;
  sql: string | null;
}

/** Tables that SQLite itself makes, without a statement of ours. */
const OF_SQLITE = ['sqlite_sequence', 'sqlite_stat1', 'sqlite_stat4'];

/**
 * A part of the schema that the migrations do not make, make in another form, or that is missing: a foreign trigger would run
 * with the first change. Undefined: none, or the database is too damaged to tell.
 */
export function foreignSchemaIn(path: string, migrationsDir: string): string | undefined {
  return withConnection(path, (handle) =>
    unlessDamaged(
      () => foreignPart(handle, migrationsDir),
      () => undefined,
    ),
  );
}

function foreignPart(handle: BetterSqlite3.Database, migrationsDir: string): string | undefined {
  const version = handle.pragma('user_version', { simple: true }) as number;
  // A database without tables would begin anew: as a gateway that belongs to nobody.
  if (version < 1) return 'it is no database of a gateway';
  const own = new Map(ownSchema(migrationsDir, version).map((part) => [nameOf(part), part.sql]));
  const parts = partsOf(handle);
  const foreign = parts.find((part) => own.get(nameOf(part)) !== part.sql);
  if (foreign) return `it has a ${nameOf(foreign)} that this gateway does not make`;
  const names = new Set(parts.map(nameOf));
  const missing = [...own.keys()].find((name) => !names.has(name));
  return missing === undefined ? undefined : `it has no ${missing}`;
}

const nameOf = ({ type, name }: SchemaPart): string => `${type} "${name}"`;

function partsOf(handle: BetterSqlite3.Database): SchemaPart[] {
  const all = handle.prepare<[], SchemaPart>('SELECT type, name, sql FROM sqlite_schema').all();
  return all.filter(({ type, name, sql }) => sql !== null && !(type === 'table' && OF_SQLITE.includes(name)));
}

/** As the migrations up to a version make it. */
function ownSchema(migrationsDir: string, version: number): SchemaPart[] {
  const memory = new BetterSqlite3(':memory:');
  try {
    for (const { sql } of readMigrations(migrationsDir).slice(0, version)) memory.exec(sql);
    return partsOf(memory);
  } finally {
    memory.close();
  }
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

/** Whether a closed database has the tables that every version of state.db has; false for a damaged one, too. */
export function isStateOfGateway(path: string): boolean {
  const count = `SELECT count(*) FROM sqlite_schema WHERE name IN ('site', 'device', 'access_token')`;
  return withConnection(path, (handle) =>
    unlessDamaged(
      () => handle.prepare<[], number>(count).pluck().get() === 3,
      () => false,
    ),
  );
}

// Distinguishes a disk that cannot be read now from a damaged file. SQLite does not: after a read that fails with EIO a
// statement reports SQLITE_CORRUPT (SQLITE_IOERR_CORRUPTFS of https://sqlite.org/rescode.html). A damaged file is set
// aside, which would give up data that the disk can read again a moment later.

const PAGE_BYTES = 4_096;
/** In a larger file this many are spread over it; half a second on a slow card. */
const PAGES_READ_MAX = 1_024;
const TRIES = 3;
/** A dead medium may take seconds for each page: after this many failures from the start no more are read. */
const FIRST_PAGES = 16;

/** Reads at a position of an open file. */
type Read = (descriptor: number, into: Buffer, position: number) => void;

const readPage: Read = (descriptor, into, position) =>
  void readSync(descriptor, into, 0, into.length, position);

/**
 * Whether reads of the file or its log fail now and then, or nearly everywhere. False where only single places can never
 * be read: these are damage. A database that this process has open gives its descriptor (see `Database.descriptor`).
 */
export function failsToRead(path: string, read = readPage, descriptor?: number): boolean {
  const files = [
    () => (descriptor === undefined ? failsInFile(path, read) : failsIn(descriptor, read)),
    () => failsInFile(`${path}-wal`, read),
  ];
  return files.some((fails) => {
    try {
      return fails();
    } catch (error) {
      // A missing file cannot fail to be read.
      return error instanceof Error && 'code' in error && error.code !== 'ENOENT';
    }
  });
}

function failsInFile(path: string, read: Read): boolean {
  const descriptor = openSync(path, 'r');
  try {
    return failsIn(descriptor, read);
  } finally {
    closeSync(descriptor);
  }
}

function failsIn(descriptor: number, read: Read): boolean {
  const pages = Math.ceil(fstatSync(descriptor).size / PAGE_BYTES);
  const count = Math.min(pages, PAGES_READ_MAX);
  const into = Buffer.alloc(PAGE_BYTES);
  let [readable, unreadable] = [0, 0];
  for (let index = 0; index < count && (readable > 0 || unreadable < FIRST_PAGES); index++) {
    const failures = failuresAt(Math.floor((index * pages) / count) * PAGE_BYTES);
    if (failures === 0) readable++;
    else if (failures === TRIES) unreadable++;
    else return true;
  }
  return unreadable > readable;

  function failuresAt(position: number): number {
    for (let failures = 0; failures < TRIES; failures++)
      try {
        read(descriptor, into, position);
        return failures;
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error;
      }
    return TRIES;
  }
}
