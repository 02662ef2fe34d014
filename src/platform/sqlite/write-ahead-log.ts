/**
 * The write-ahead log of a database whose commits share their syncs. The log file stays the same while the database is
 * open, and SQLite takes no locks on it, so it can be opened here, too (https://sqlite.org/wal.html,
 * https://sqlite.org/fileformat2.html#walformat).
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { mayBeStored } from '../../lib/system-fault.ts';
import type { LogTrust } from './log-trust.ts';

/** Syncs the file behind the descriptor, beside the event loop. */
export type SyncFile = (descriptor: number) => Promise<void>;

const HEADER_BYTES = 32;
const HEADER_SALT_AT = 16;
const FRAME_HEADER_BYTES = 24;
const FRAME_SALT_AT = 8;
const SALT_BYTES = 8;

export class WriteAheadLog {
  readonly #path: string;
  readonly #sync: SyncFile;
  readonly #trust: LogTrust;
  /** Rows that this connection has changed so far. */
  readonly #changes: BetterSqlite3.Statement<[], number>;
  readonly #pageBytes: number;
  #descriptor: number | undefined;
  #syncedChanges = 0;
  #running: Promise<void> | undefined;

  constructor(
    handle: BetterSqlite3.Database,
    { path, sync, trust }: { path: string; sync: SyncFile; trust: LogTrust },
  ) {
    this.#path = `${path}-wal`;
    this.#sync = sync;
    this.#trust = trust;
    this.#changes = handle.prepare<[], number>('SELECT total_changes()').pluck();
    this.#pageBytes = handle.pragma('page_size', { simple: true }) as number;
  }

  /**
   * As `Database.durable`. Callers that come during a sync share the next one. What a failed sync leaves is in effect and may
   * be on the disk or not: the error says so.
   */
  async durable(): Promise<void> {
    const wanted = this.#changes.get() ?? 0;
    while (this.#syncedChanges < wanted) {
      this.#running ??= this.#syncOnce().finally(() => (this.#running = undefined));
      await this.#running;
    }
  }

  /** Whether the log has grown beyond so many bytes since it was reset. */
  isOver(sizeBytes: number): boolean {
    const frameBytes = FRAME_HEADER_BYTES + this.#pageBytes;
    const frame = HEADER_BYTES + Math.floor(sizeBytes / frameBytes) * frameBytes;
    const [current, there] = [Buffer.alloc(SALT_BYTES), Buffer.alloc(SALT_BYTES)];
    const descriptor = this.#open();
    if (readSync(descriptor, there, 0, SALT_BYTES, frame + FRAME_SALT_AT) < SALT_BYTES) return false;
    readSync(descriptor, current, 0, SALT_BYTES, HEADER_SALT_AT);
    // A frame from before the reset has another salt than the header.
    return current.equals(there);
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  async #syncOnce(): Promise<void> {
    const covered = this.#changes.get() ?? 0;
    try {
      if (this.#trust.isDoubtful) this.#trust.restore();
      else await this.#sync(this.#open());
    } catch (error) {
      this.#trust.note(error);
      this.#trust.doubt();
      throw mayBeStored(error);
    }
    this.#syncedChanges = covered;
    this.#trust.noteStored();
  }

  #open(): number {
    this.#descriptor ??= openSync(this.#path, 'r');
    return this.#descriptor;
  }
}
