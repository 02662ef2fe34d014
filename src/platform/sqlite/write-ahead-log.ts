/**
 * The write-ahead log of a database whose commits share their syncs. The log file stays the same as long as the
 * database is open, and SQLite takes no locks on it, so that it can be opened here beside (https://sqlite.org/wal.html,
 * https://sqlite.org/fileformat2.html#walformat).
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { gatewayError } from '../../lib/errors.ts';
import { asDiskFault } from './disk-fault.ts';

/** Syncs the file behind the descriptor, beside the event loop. */
export type SyncFile = (descriptor: number) => Promise<void>;

const HEADER_BYTES = 32;
const HEADER_SALT_AT = 16;
const FRAME_HEADER_BYTES = 24;
const FRAME_SALT_AT = 8;
const SALT_BYTES = 8;

export class WriteAheadLog {
  readonly #handle: BetterSqlite3.Database;
  readonly #path: string;
  readonly #sync: SyncFile;
  /** Rows changed over this connection so far, by whatever statement. */
  readonly #changes: BetterSqlite3.Statement<[], number>;
  readonly #pageBytes: number;
  #descriptor: number | undefined;
  #syncedChanges = 0;
  #running: Promise<void> | undefined;
  #hasFailed = false;

  constructor(handle: BetterSqlite3.Database, path: string, sync: SyncFile) {
    this.#handle = handle;
    this.#path = `${path}-wal`;
    this.#sync = sync;
    this.#changes = handle.prepare<[], number>('SELECT total_changes()').pluck();
    this.#pageBytes = handle.pragma('page_size', { simple: true }) as number;
  }

  /** As `Database.durable`. Callers that come while a sync is under way share the next one. */
  async durable(): Promise<void> {
    const wanted = this.#changes.get() ?? 0;
    while (this.#syncedChanges < wanted) {
      this.#running ??= this.#syncOnce().finally(() => (this.#running = undefined));
      await this.#running;
    }
  }

  /** Whether the log, since it was begun anew the last time, has grown over so many bytes. */
  isOver(sizeBytes: number): boolean {
    const frameBytes = FRAME_HEADER_BYTES + this.#pageBytes;
    const frame = HEADER_BYTES + Math.floor(sizeBytes / frameBytes) * frameBytes;
    const [current, there] = [Buffer.alloc(SALT_BYTES), Buffer.alloc(SALT_BYTES)];
    const descriptor = this.#open();
    if (readSync(descriptor, there, 0, SALT_BYTES, frame + FRAME_SALT_AT) < SALT_BYTES) return false;
    readSync(descriptor, current, 0, SALT_BYTES, HEADER_SALT_AT);
    // A frame of an earlier time has another salt than the header.
    return current.equals(there);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  async #syncOnce(): Promise<void> {
    const covered = this.#changes.get() ?? 0;
    try {
      if (this.#hasFailed) this.#storeOtherwise();
      else await this.#sync(this.#open());
    } catch (error) {
      this.#hasFailed = true;
      throw asDiskFault(error);
    }
    this.#hasFailed = false;
    this.#syncedChanges = covered;
  }

  /**
   * After a sync that failed, another one may succeed although the data was dropped (fsync(2)); what is in the log
   * is therefore written once more, into the database, which is synced.
   */
  #storeOtherwise(): void {
    const [result] = this.#handle.pragma('wal_checkpoint(PASSIVE)') as {
      busy: number;
      log: number;
      checkpointed: number;
    }[];
    if (result === undefined || result.busy !== 0 || result.checkpointed < result.log)
      throw gatewayError(
        'unavailable',
        'unavailable',
        'The disk fails now, so this cannot be stored or read. Check it.',
      );
  }

  #open(): number {
    this.#descriptor ??= openSync(this.#path, 'r');
    return this.#descriptor;
  }
}
