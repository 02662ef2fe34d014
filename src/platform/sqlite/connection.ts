import type BetterSqlite3 from 'better-sqlite3';
import { requireNoObstacle } from '../files/index.ts';
import { openFile } from './native.ts';

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
