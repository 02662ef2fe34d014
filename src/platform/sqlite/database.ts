/**
 * One SQLite file: pragmas with their reasons, forward-only migrations, transactions with after-commit
 * work. Statements live in the `store.ts` files; this module knows no table but its own.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { UnrecoverableError } from '../../lib/errors.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { createOrm, type Orm } from './orm.ts';

export type Statement = BetterSqlite3.Statement<unknown[], unknown>;

export interface Database {
  /** Typed statements on the tables that `tables.ts` files define; prepare them at construction of a store. */
  readonly orm: Orm;
  /** A statement of plain SQL, where `orm` cannot say it; prepare it at construction of a store. */
  prepare<Parameters extends unknown[] | object = unknown[], Row = unknown>(
    sql: string,
  ): BetterSqlite3.Statement<Parameters extends unknown[] ? Parameters : [Parameters], Row>;
  /**
   * Runs `fn` in one IMMEDIATE transaction and returns its result; rolls back when it throws. Synchronous:
   * no `await` inside. A call within a transaction becomes a savepoint of it.
   */
  transaction<Result>(fn: () => Result): Result;
  /**
   * Runs `fn` once the outermost transaction has committed; at once when there is none; never when the
   * transaction or savepoint it was registered in is undone. All such work runs although some of it throws;
   * the first error then leaves `transaction`, whose data is stored nevertheless.
   */
  afterCommit(fn: () => void): void;
  readonly inTransaction: boolean;
  /**
   * Copies the database as of the end of the copying to `path`, which must not exist; other work has its turn
   * in between. What another process writes meanwhile makes it begin anew.
   */
  copyTo(path: string): Promise<void>;
  /** Bytes of the file and its write-ahead log. */
  sizeBytes(): number;
  close(): void;
  readonly path: string;
}

export class NewerDatabaseError extends UnrecoverableError {
  override name = 'NewerDatabaseError';
  constructor(path: string, found: number, known: number) {
    super(
      `${path} was written by a newer version (schema ${found}, this program knows ${known}); ` +
        'install that version or restore a backup',
    );
  }
}

export interface OpenOptions {
  path: string;
  /** Folder of `0001_name.sql`, `0002_…`; each file is one transaction. */
  migrationsDir: string;
  clock: Clock;
  log: Log;
  /** Folder for the copy made before pending migrations change an existing file. */
  backupDir?: string;
  /** False: pending migrations are refused, because another program works with the database. Default true. */
  mayMigrate?: boolean;
}

/** Opens, migrates and returns the database. @throws NewerDatabaseError */
export function openDatabase(options: OpenOptions): Database {
  mkdirSync(dirname(options.path), { recursive: true, mode: 0o700 });
  const handle = new BetterSqlite3(options.path);
  try {
    applyPragmas(handle);
    migrate(handle, options);
  } catch (error) {
    handle.close();
    throw error;
  }
  return wrap(handle, options.path);
}

/** Extended codes such as SQLITE_CORRUPT_INDEX included. */
const DAMAGE_CODE = /^SQLITE_(NOTADB|CORRUPT)/;

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

/** Whether the error, or one that it was caused by, says that a database is damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  // From another thread comes a plain Error with the same code.
  return ('code' in error && DAMAGE_CODE.test(String(error.code))) || isDamage(error.cause);
}

/**
 * The first damage in a closed database, undefined when there is none. Reads the whole file, which takes
 * minutes on a large one: only for a database that failed already.
 */
export function damageOf(path: string): string | undefined {
  const handle = new BetterSqlite3(path, { fileMustExist: true });
  try {
    const found = handle.pragma('quick_check(1)', { simple: true });
    return found === 'ok' ? undefined : String(found);
  } catch (error) {
    if (!isDamage(error)) throw error;
    return (error as Error).message;
  } finally {
    handle.close();
  }
}

/**
 * Why a closed copy of a database cannot take the place of ours: its damage, or a schema newer than the
 * migrations. Undefined when it can. Reads the whole file.
 */
export function judgeCopy(path: string, migrationsDir: string): string | undefined {
  const damage = damageOf(path);
  if (damage !== undefined) return `its database is damaged (${damage})`;
  const handle = new BetterSqlite3(path, { fileMustExist: true });
  const schema = handle.pragma('user_version', { simple: true }) as number;
  handle.close();
  const known = readMigrations(migrationsDir).length;
  return schema > known ? `it is of a newer version (schema ${schema}, this one knows ${known})` : undefined;
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

function applyPragmas(handle: BetterSqlite3.Database): void {
  // First: another program (the admin command) may hold the lock for a moment.
  handle.pragma('busy_timeout = 5000');
  // Before the first table: lets a file that shrank inside be shortened page by page, without a rewrite.
  handle.pragma('auto_vacuum = INCREMENTAL');
  // Readers do not block the writer, and one sync per commit instead of two.
  handle.pragma('journal_mode = WAL');
  // NORMAL kept 0 of 300 committed transactions over a simulated power cut, FULL 300 of 300 (decision 2).
  handle.pragma('synchronous = FULL');
  handle.pragma('foreign_keys = ON');
  // Sorting must not touch the flash card.
  handle.pragma('temp_store = MEMORY');
  // A schema that was tampered with must not run functions with effects.
  handle.pragma('trusted_schema = OFF');
  // Bounds the write-ahead log left on disk after a burst.
  handle.pragma('journal_size_limit = 8388608');
  handle.pragma('cache_size = -4096');
}

function migrate(handle: BetterSqlite3.Database, options: OpenOptions): void {
  const migrations = readMigrations(options.migrationsDir);
  const version = handle.pragma('user_version', { simple: true }) as number;
  const known = migrations.length;
  if (version > known) throw new NewerDatabaseError(options.path, version, known);
  if (version === known) return;
  if (options.mayMigrate === false)
    throw new UnrecoverableError(
      `${options.path} is used by a gateway of an earlier version; restart the gateway first`,
    );
  if (version > 0 && options.backupDir !== undefined)
    backUpBeforeMigration(handle, options.backupDir, options, version);
  for (const migration of migrations.slice(version)) {
    const apply = handle.transaction(() => {
      // Another program (the admin command) may have been faster since the version was read.
      if ((handle.pragma('user_version', { simple: true }) as number) >= migration.version) return false;
      handle.exec(migration.sql);
      // A pragma cannot be a parameter; the number comes from a file name checked by readMigrations.
      handle.pragma(`user_version = ${migration.version}`);
      return true;
    });
    if (apply.immediate())
      options.log.info('migration applied', { database: options.path, migration: migration.name });
  }
}

function backUpBeforeMigration(
  handle: BetterSqlite3.Database,
  backupDir: string,
  options: OpenOptions,
  version: number,
): void {
  mkdirSync(backupDir, { recursive: true, mode: 0o700 });
  const stem = options.path.replace(/^.*\//, '').replace(/\.db$/, '');
  const copy = join(
    backupDir,
    `${stem}-before-migration-from-${version}-${Math.floor(options.clock.wallMs() / 1_000)}.db`,
  );
  if (existsSync(copy)) return;
  handle.prepare('VACUUM INTO ?').run(copy);
  options.log.info('database copied before migration', { database: options.path, copy });
}

interface Migration {
  version: number;
  name: string;
  sql: string;
}

/** All migrations in order; numbers must run 1, 2, 3 … without a gap. */
export function readMigrations(dir: string): Migration[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name, index) => {
      if (!new RegExp(`^${String(index + 1).padStart(4, '0')}_[a-z0-9_]+\\.sql$`).test(name))
        throw new Error(`${join(dir, name)}: expected the number ${index + 1} with four digits`);
      return { version: index + 1, name, sql: readFileSync(join(dir, name), 'utf8') };
    });
}

/** Identifies a set of migrations, for build information. */
export function migrationsDigest(dir: string): string {
  const hash = createHash('sha256');
  for (const migration of readMigrations(dir)) hash.update(migration.name).update(migration.sql);
  return hash.digest('hex').slice(0, 12);
}

function wrap(handle: BetterSqlite3.Database, path: string): Database {
  let pending: (() => void)[] = [];
  const runOutermost = handle.transaction((fn: () => unknown) => fn());

  function savepoint<Result>(fn: () => Result): Result {
    const registered = pending.length;
    try {
      return handle.transaction(fn)();
    } catch (error) {
      // What was undone must have no effect after the commit either.
      pending.length = registered;
      throw error;
    }
  }

  function transaction<Result>(fn: () => Result): Result {
    if (handle.inTransaction) return savepoint(fn);
    pending = [];
    const result = runOutermost.immediate(fn) as Result;
    const after = pending;
    pending = [];
    runAll(after);
    return result;
  }

  return {
    path,
    orm: createOrm(handle),
    prepare: (sql) => handle.prepare(sql) as never,
    transaction,
    afterCommit: (fn) => {
      if (handle.inTransaction) pending.push(fn);
      else fn();
    },
    get inTransaction() {
      return handle.inTransaction;
    },
    copyTo: async (target) => {
      if (existsSync(target)) throw new Error(`${target} already exists`);
      await handle.backup(target, { progress: () => PAGES_PER_TURN });
    },
    sizeBytes: () => fileBytes(path) + fileBytes(`${path}-wal`),
    close: () => {
      if (!handle.open) return;
      handle.pragma('wal_checkpoint(TRUNCATE)');
      handle.close();
    },
  };
}

/** M: 256 KiB, below a millisecond; further ones make the whole copy no faster. */
const PAGES_PER_TURN = 64;

/** Runs every piece of work although one throws; then throws the first error. */
function runAll(work: readonly (() => void)[]): void {
  const errors: unknown[] = [];
  for (const run of work) {
    try {
      run();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
