/** Work on a database while it is in use; each task has a connection of its own. */
import { closeSync, fstatSync, openSync, writeSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import './native.ts';
import { withConnection } from './native.ts';
import { damageOf, failsToRead, isDamage } from './damage.ts';
import type { Database } from './database.ts';
import { type CopyTask, makeCopy } from './local-copies.ts';

/** Tasks of the thread. */
export type UpkeepTask =
  /** Is the file damaged? Reads all of it. */
  | { kind: 'judge'; path: string }
  | { kind: 'checkpoint'; path: string }
  | ({ kind: 'room' } & Room)
  | ({ kind: 'copy' } & CopyTask);

/** Room to keep allocated for state.db. */
interface Room {
  path: string;
  walBytes: number;
  freeBytes: number;
}

/** The database is open in this process: its file must not be opened and closed here (see `Database.descriptor`). */
export interface OpenFile {
  descriptor: number;
}

/** Result of a task. */
export interface UpkeepResult {
  /** Damage of the database; undefined: none was found. */
  damage?: string | undefined;
}

/** @throws Error when the task failed for another reason than damage of the database */
export function runUpkeep(task: UpkeepTask & OpenFile): UpkeepResult {
  const fails = (): boolean => failsToRead(task.path, undefined, task.descriptor);
  try {
    if (task.kind === 'judge') return { damage: fails() ? undefined : damageOf(task.path) };
    if (task.kind === 'copy') makeCopy(task);
    else
      withConnection(task.path, (handle) => {
        handle.pragma('synchronous = NORMAL');
        handle.pragma('wal_autocheckpoint = 0');
        if (task.kind === 'room') makeRoom(handle, task);
        // Syncs the log, writes it into the file and syncs that; writers go on meanwhile.
        handle.pragma('wal_checkpoint(PASSIVE)');
      });
    return {};
  } catch (error) {
    // A read that failed once, or a disk that cannot be read now, is no damage.
    const damage = isDamage(error) ? damageOf(task.path) : undefined;
    if (damage === undefined || fails()) throw error;
    return { damage };
  }
}

function makeRoom(handle: BetterSqlite3.Database, { path, walBytes, freeBytes }: Room): void {
  const pageBytes = handle.pragma('page_size', { simple: true }) as number;
  const free = (handle.pragma('freelist_count', { simple: true }) as number) * pageBytes;
  handle
    .transaction(() => {
      if (free < freeBytes) storeAndDelete(handle, freeBytes);
      fillLog(path, walBytes);
    })
    .immediate();
}

/**
 * Call in a transaction, so that nobody writes to the log: makes its file so long. SQLite ends a log at the first frame that
 * has not its salt, so that what stands behind is only room; frames would be written once more, into the database.
 */
function fillLog(path: string, walBytes: number): void {
  const descriptor = openSync(`${path}-wal`, 'r+');
  try {
    const { size } = fstatSync(descriptor);
    // Filled with text, because a file system may leave zeros out.
    if (size < walBytes) writeSync(descriptor, Buffer.alloc(walBytes - size, 'reserve '), 0, null, size);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Call in a transaction: allocates room that no other program can take. The pages stay free in the file, and the
 * write-ahead log keeps its size up to its limit.
 */
export function storeAndDelete(database: Pick<Database, 'prepare'>, valueBytes: number): void {
  database.prepare('CREATE TABLE room_to_be_freed (value BLOB NOT NULL) STRICT').run();
  database.prepare('INSERT INTO room_to_be_freed VALUES (zeroblob(?))').run(valueBytes);
  database.prepare('DROP TABLE room_to_be_freed').run();
}
