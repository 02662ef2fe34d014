/**
 * Whether what the write-ahead log holds is found again after a cut of power. A sync that fails is told once to each who
 * has the file open, and what it was about counts as written from then on (fsync(2)), whoever wrote it: also a connection
 * that leaves the syncing to others. A later sync succeeds, and what it covers stands behind a hole, where SQLite stops to
 * read (https://sqlite.org/fileformat2.html#walformat). So after a failure, and at the start, the log is moved into the
 * database, which is synced, and begun anew.
 */
import { statSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { GatewayError } from '../../lib/errors.ts';
import { isDamage } from './damage.ts';
import { asSystemFault, diskFails, isFailure } from '../../lib/system-fault.ts';

/** G: readers are done within milliseconds; nobody waits longer for them here. */
const READERS_MS = 100;

/** The first may be told of what failed under the earlier program. */
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

  /** What disk or system refused last; undefined since something was stored. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /**
   * At the start, before anybody else has the file: what an earlier program left in the log is read, perhaps, from the
   * memory of the system alone. A disk that has no room or takes no writes leaves it as it is.
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

  /** Takes note of what a statement, a commit or a sync failed with. */
  note(error: unknown): void {
    const fault = asSystemFault(error);
    // One that is of the gateway already was noted where it came from, or is none of the disk.
    if (fault !== error) this.#failure = fault as Error;
    if (isFailure(error)) this.doubt();
    if (isDamage(error)) this.#isSuspicious = true;
  }

  /** Whether anything looked like damage since it was asked the last time. */
  takeSuspicion(): boolean {
    const isSuspicious = this.#isSuspicious;
    this.#isSuspicious = false;
    return isSuspicious;
  }

  /** Something was stored, and is on the disk. */
  noteStored(): void {
    this.#failure = undefined;
  }

  /** After it everything that was committed so far is on the disk. @throws GatewayError unavailable */
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
