/**
 * Whether the content of the write-ahead log survives a power cut. A failed sync is reported once to each open file, and
 * its pages then count as written (fsync(2)). A later sync succeeds, but its data is behind a hole, where SQLite stops
 * reading (https://sqlite.org/fileformat2.html#walformat). So after a failure, and at the start, the log is moved into
 * the database, which is synced, and reset.
 */
import { statSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { GatewayError } from '../../lib/errors.ts';
import { isDamage } from './damage.ts';
import { asSystemFault, diskFails, isFailure } from '../../lib/system-fault.ts';

/** G: readers end within milliseconds, so this is long enough to wait for them. */
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
