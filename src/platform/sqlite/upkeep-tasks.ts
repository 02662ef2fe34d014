/** What is done to state.db while the gateway works with it, each task with a connection of its own. */
import BetterSqlite3 from 'better-sqlite3';
import './native.ts';
import { damageOf, isDamage } from './damage.ts';
import type { Database } from './database.ts';
import { type CopyTask, makeCopy } from './local-copies.ts';
import { failsToRead } from './read-fault.ts';

export type UpkeepTask =
  /** Is the file damaged? Reads all of it. */
  | { kind: 'judge'; path: string }
  | { kind: 'checkpoint'; path: string }
  | ({ kind: 'room'; path: string } & Room)
  | ({ kind: 'copy' } & CopyTask);

/** What of the disk belongs to state.db already, before it is needed. */
interface Room {
  walBytes: number;
  freeBytes: number;
}

export interface UpkeepResult {
  /** What is wrong with the database itself; undefined: nothing was found. */
  damage?: string | undefined;
}

/** @throws Error when the task could not be done for another reason than damage of the database */
export function runUpkeep(task: UpkeepTask): UpkeepResult {
  try {
    if (task.kind === 'judge') return { damage: failsToRead(task.path) ? undefined : damageOf(task.path) };
    if (task.kind === 'copy') makeCopy(task);
    else
      withConnection(task.path, (handle) => {
        if (task.kind === 'room') makeRoom(handle, task);
        checkpoint(handle);
      });
    return {};
  } catch (error) {
    // A read that failed once is no damage yet, nor is a disk that cannot be read now.
    const damage = isDamage(error) ? damageOf(task.path) : undefined;
    if (damage === undefined || failsToRead(task.path)) throw error;
    return { damage };
  }
}

/** Syncs the log, writes it into the file and syncs that; writers go on meanwhile. */
function checkpoint(handle: BetterSqlite3.Database): void {
  handle.pragma('wal_checkpoint(PASSIVE)');
}

function makeRoom(handle: BetterSqlite3.Database, { walBytes, freeBytes }: Room): void {
  const pageBytes = handle.pragma('page_size', { simple: true }) as number;
  const free = (handle.pragma('freelist_count', { simple: true }) as number) * pageBytes;
  handle.transaction(() => storeAndDelete(handle, free < freeBytes ? freeBytes : walBytes)).immediate();
}

/**
 * Takes room, in a transaction: the pages of what was stored and deleted stay in the file for later data, and what the
 * write-ahead log grew by stays up to its limit. Nobody else on the disk can take that room.
 */
export function storeAndDelete(database: Pick<Database, 'prepare'>, valueBytes: number): void {
  database.prepare('CREATE TABLE room_to_be_freed (value BLOB NOT NULL) STRICT').run();
  database.prepare('INSERT INTO room_to_be_freed VALUES (zeroblob(?))').run(valueBytes);
  database.prepare('DROP TABLE room_to_be_freed').run();
}

function withConnection<Result>(path: string, work: (handle: BetterSqlite3.Database) => Result): Result {
  const handle = new BetterSqlite3(path, { fileMustExist: true });
  try {
    handle.pragma('busy_timeout = 5000');
    handle.pragma('synchronous = NORMAL');
    handle.pragma('wal_autocheckpoint = 0');
    return work(handle);
  } finally {
    handle.close();
  }
}
