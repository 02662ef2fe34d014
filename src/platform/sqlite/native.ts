/** Loads the native part of the library with this module, not with the first database: see platform/threads/loaded.ts. */
import { accessSync } from 'node:fs';
import { dirname } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { requireNoObstacle } from '../files/index.ts';

new BetterSqlite3(':memory:').close();

/**
 * Opens a database file. Of a folder that the disk refuses, the library says without a name or a code that there is none.
 * @throws SqliteError; the refusal of the folder, which names it
 */
export function openFile(path: string, options: BetterSqlite3.Options = {}): BetterSqlite3.Database {
  try {
    return new BetterSqlite3(path, options);
  } catch (error) {
    if (error instanceof BetterSqlite3.SqliteError) throw error;
    accessSync(dirname(path));
    return new BetterSqlite3(path, options);
  }
}

/** Works with a database, which may be in use, over a connection of its own. */
export function withConnection<Result>(
  path: string,
  work: (handle: BetterSqlite3.Database) => Result,
): Result {
  requireNoObstacle(path);
  const handle = openFile(path, { fileMustExist: true });
  try {
    return work(handle);
  } finally {
    handle.close();
  }
}
