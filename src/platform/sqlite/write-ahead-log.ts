/**
 * The write-ahead log of a database whose commits share their syncs. The log file stays the same while the database is
 * open, and SQLite takes no locks on it, so it can be opened here, too (https://sqlite.org/wal.html,
 * https://sqlite.org/fileformat2.html#walformat).
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { GatewayError } from '../../lib/errors.ts';
import { asSystemFault, diskFails, isFailure, mayBeStored } from '../../lib/system-fault.ts';
import { isDamage } from './damage.ts';

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

// Whether the content of the write-ahead log survives a power cut. A failed sync is reported once to each open file, and
// its pages then count as written (fsync(2)). A later sync succeeds, but its data is behind a hole, where SQLite stops
// reading (https://sqlite.org/fileformat2.html#walformat). So after a failure, and at the start, the log is moved into
// the database, which is synced, and reset.

/** Readers end within milliseconds, so this is long enough to wait for them. */
const READERS_MS = 100;

/** The first may fail with an error of the earlier program. */
const TRIES_AT_START = 2;

export class LogTrust {
  readonly #handle: BetterSqlite3.Database;
  #isDoubtful = false;
  #failure: Error | undefined;
  #isSuspicious = false;

  constructor(handle: BetterSqlite3.Database) {
    this.#handle = handle;
  }

  get isDoubtful(): boolean {
    return this.#isDoubtful;
  }

  /** The last failure of disk or system; undefined once something was stored again. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * At the start, before others open the file: the log of an earlier program may be in the page cache only. A disk that is
   * full or read-only leaves it as it is.
   */
  begin(logPath: string): void {
    if ((statSync(logPath, { throwIfNoEntry: false })?.size ?? 0) === 0) return;
    for (let tries = 0; tries < TRIES_AT_START; tries++) {
      this.doubt();
      try {
        return this.restore();
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        this.#isDoubtful = isFailure(error);
      }
    }
  }

  /** A sync failed. */
  doubt(): void {
    this.#isDoubtful = true;
  }

  /** Notes the error of a statement, a commit or a sync. */
  note(error: unknown): void {
    const fault = asSystemFault(error);
    // A GatewayError was noted before, or has nothing to do with the disk.
    if (fault !== error) this.#failure = fault as Error;
    if (isFailure(error)) this.doubt();
    if (isDamage(error)) this.#isSuspicious = true;
  }

  /** Whether anything looked like damage since the last call. */
  takeSuspicion(): boolean {
    const isSuspicious = this.#isSuspicious;
    this.#isSuspicious = false;
    return isSuspicious;
  }

  /** Something was stored and synced. */
  noteStored(): void {
    this.#failure = undefined;
  }

  /** Brings everything that was committed onto the disk. @throws GatewayError unavailable */
  restore(): void {
    if (!this.#isDoubtful) return;
    const patienceMs = this.#handle.pragma('busy_timeout', { simple: true }) as number;
    this.#handle.pragma(`busy_timeout = ${READERS_MS}`);
    try {
      this.#beginAnew();
    } catch (error) {
      this.#failure = asSystemFault(error) as Error;
      throw this.#failure;
    } finally {
      this.#handle.pragma(`busy_timeout = ${patienceMs}`);
    }
    this.#isDoubtful = false;
  }

  #beginAnew(): void {
    const [result] = this.#handle.pragma('wal_checkpoint(RESTART)') as {
      busy: number;
      log: number;
      checkpointed: number;
    }[];
    if (result === undefined || result.busy !== 0 || result.checkpointed < result.log) throw diskFails();
  }
}
