/**
 * A fresh state.db from a damaged one: rows are read from the tables themselves, so a damaged index costs nothing. A table
 * that cannot be read as a whole comes from the newest good copy.
 */
import BetterSqlite3 from 'better-sqlite3';
import { removeFile } from '../files/index.ts';
import { faultOfCopy, isDamage } from './damage.ts';
import { type Database, openDatabase } from './database.ts';
import type { MigrationOptions } from './migrations.ts';

interface RebuildOptions extends Pick<MigrationOptions, 'migrationsDir' | 'clock' | 'log'> {
  damaged: string;
  /** The newest good copy, if there is one. */
  copy: string | undefined;
  /** The file that is made; on failure nothing is left of it. */
  target: string;
}

/** Names of the tables that came from the copy. Undefined: no database could be made that is good in itself. */
export function rebuild(options: RebuildOptions): string[] | undefined {
  const { target, migrationsDir, log } = options;
  const discard = (): undefined => {
    for (const suffix of ['', '-wal', '-shm']) removeFile(target + suffix);
  };
  discard();
  try {
    const fromCopy = copyTables(options);
    const fault = faultOfCopy(target, migrationsDir);
    if (fault === undefined) return fromCopy;
    log.warn('the rows of the damaged state.db make no good database', { fault });
  } catch (error) {
    log.warn('the rows of the damaged state.db cannot be read', { error });
  }
  return discard();
}

function copyTables({ damaged, copy, target, migrationsDir, clock, log }: RebuildOptions): string[] {
  const database = openDatabase({ path: target, migrationsDir, clock, log });
  try {
    database.prepare('PRAGMA foreign_keys = OFF').run();
    database.prepare('ATTACH ? AS damaged').run(damaged);
    if (copy !== undefined) database.prepare('ATTACH ? AS copy').run(copy);
    return tablesOf(database).filter((table) => {
      try {
        copyTable(database, 'damaged', table);
        return false;
      } catch (error) {
        if (copy === undefined || !isUnreadable(error)) throw error;
        copyTable(database, 'copy', table);
        return true;
      }
    });
  } finally {
    database.close();
  }
}

/** The rows of a table, and nothing of its indexes. */
function copyTable(database: Database, schema: 'damaged' | 'copy', table: string): void {
  database.transaction(() => {
    database.prepare(`DELETE FROM main.${table}`).run();
    const columns = database
      .prepare<[string, string], string>('SELECT name FROM pragma_table_info(?, ?)')
      .pluck()
      .all(table, schema)
      .join();
    database
      // With a condition SQLite copies rows instead of pages, and never reads an index.
      .prepare(
        `INSERT INTO main.${table} (${columns}) SELECT ${columns} FROM ${schema}.${table} NOT INDEXED WHERE true`,
      )
      .run();
  });
}

/** Those that other tables refer to first. */
function tablesOf(database: Database): string[] {
  return database
    .prepare<[], string>(
      `SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid`,
    )
    .pluck()
    .all();
}

/** Damage, or a row that violates a rule of its table. */
function isUnreadable(error: unknown): boolean {
  const cause = error instanceof Error && error.cause ? error.cause : error;
  return (
    isDamage(error) ||
    (cause instanceof BetterSqlite3.SqliteError && cause.code.startsWith('SQLITE_CONSTRAINT'))
  );
}
