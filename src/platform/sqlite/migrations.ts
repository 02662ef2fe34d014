/** Forward-only migrations: numbered files, each one transaction, after a copy of what was there. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { UnrecoverableError } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import { makePrivateFolder, removeFile, syncFile, syncFolder } from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { isFull } from '../../lib/system-fault.ts';

/** Another program uses the database, so it cannot be migrated now. */
export class MigrationsPendingError extends UnrecoverableError {
  override name = 'MigrationsPendingError';
  constructor(path: string) {
    super(`${path} is used by a gateway of an earlier version; restart the gateway first`);
  }
}

export interface MigrationOptions {
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

/** A newer version of the gateway wrote the database, so this one must not change it. */
export class NewerDatabaseError extends UnrecoverableError {
  override name = 'NewerDatabaseError';
  /** Its schema. */
  readonly found: number;
  constructor(path: string, found: number, known: number) {
    super(
      `${path} was written by a newer version (schema ${found}, this program knows ${known}); ` +
        'install that version or restore a backup',
    );
    this.found = found;
  }
}

/** @throws NewerDatabaseError; UnrecoverableError when migrations are pending and not allowed */
export function migrate(handle: BetterSqlite3.Database, options: MigrationOptions): void {
  const migrations = readMigrations(options.migrationsDir);
  const version = handle.pragma('user_version', { simple: true }) as number;
  const known = migrations.length;
  if (version > known) throw new NewerDatabaseError(options.path, version, known);
  if (version === known) return;
  if (options.mayMigrate === false) throw new MigrationsPendingError(options.path);
  const { backupDir } = options;
  if (version > 0 && backupDir !== undefined) copyOrWarn(handle, { ...options, backupDir }, version);
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

type BackupOptions = MigrationOptions & { backupDir: string };

/** Errors of a folder in which no file can be created. */
const UNUSABLE_FOLDER = /^(EACCES|EPERM|ENOTDIR|EEXIST|EISDIR|SQLITE_CANTOPEN\w*)$/;

/** Running the site is worth more than the way back: without migration it would not run until a person makes room. */
function copyOrWarn(handle: BetterSqlite3.Database, options: BackupOptions, version: number): void {
  try {
    backUpBeforeMigration(handle, options, version);
  } catch (error) {
    const isUnusable = error instanceof Error && 'code' in error && UNUSABLE_FOLDER.test(String(error.code));
    if (!isFull(error) && !isUnusable) throw error;
    options.log.error('the database is not copied before its migration: make room, or its folder usable', {
      database: options.path,
      folder: options.backupDir,
      error,
    });
  }
}

function backUpBeforeMigration(
  handle: BetterSqlite3.Database,
  { path, backupDir, clock, log }: BackupOptions,
  version: number,
): void {
  makePrivateFolder(backupDir);
  const stem = path.replace(/^.*\//, '').replace(/\.db$/, '');
  const head = `${stem}-before-migration-from-`;
  for (const left of readdirSync(backupDir).filter((name) => name.startsWith(head) && name.includes(DRAFT)))
    removeFile(join(backupDir, left));
  const name = `${head}${version}-${Math.floor(clock.wallMs() / 1_000)}.db`;
  const copy = join(backupDir, name);
  if (existsSync(copy)) return;
  try {
    // Renamed last, so that the name means a complete copy, also after a power cut.
    handle.prepare('VACUUM INTO ?').run(copy + DRAFT);
    syncFile(copy + DRAFT);
    renameSync(copy + DRAFT, copy);
    syncFolder(backupDir);
  } catch (error) {
    for (const suffix of ['', '-journal']) removeFile(copy + DRAFT + suffix);
    throw error;
  }
  log.info('database copied before migration', { database: path, copy });
  const earlier = readdirSync(backupDir).filter((other) => other.startsWith(head) && other !== name);
  // The clock may have been wrong: the last one always stays.
  for (const old of earlier
    .toSorted((a, b) => secondsOf(b) - secondsOf(a))
    .slice(LIMITS.state.copiesBeforeMigrations - 1)) {
    removeFile(join(backupDir, old));
    log.info('an old copy from before a migration was removed', { copy: join(backupDir, old) });
  }
}

const DRAFT = '.new';

const secondsOf = (name: string): number => Number(/-(\d+)\.db$/.exec(name)?.[1] ?? 0);

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
