/**
 * Whether another connection, of any process, has changed the database, cheap enough to ask before every answer. `PRAGMA
 * data_version` tells, but takes locks. The header of the shared index changes with every commit before the commit
 * returns, and to read it as a file costs a quarter (https://sqlite.org/walformat.html#the_wal_index_file_format).
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';

/** The first of the two copies of the header, which is written last. */
const HEAD_BYTES = 48;

export class ForeignChanges {
  readonly #indexPath: string;
  readonly #ask: BetterSqlite3.Statement<[], number>;
  readonly #seen = Buffer.alloc(HEAD_BYTES);
  readonly #known = Buffer.alloc(HEAD_BYTES);
  #version: number | undefined;
  #descriptor: number | undefined;

  constructor(handle: BetterSqlite3.Database, path: string) {
    this.#indexPath = `${path}-shm`;
    this.#ask = handle.prepare<[], number>('PRAGMA data_version').pluck();
  }

  /** Changes whenever another connection has changed the database. */
  version(): number {
    if (!this.#readHead()) return this.#ask.get() ?? 0;
    if (this.#version !== undefined && this.#seen.equals(this.#known)) return this.#version;
    // The version of this header or a later one, which will differ. If the query throws, no header counts as known.
    const version = this.#ask.get() ?? 0;
    this.#seen.copy(this.#known);
    return (this.#version = version);
  }

  /** False when the disk fails or descriptors are used up; SQLite still has the index in memory. */
  #readHead(): boolean {
    try {
      this.#descriptor ??= openSync(this.#indexPath, 'r');
      readSync(this.#descriptor, this.#seen, 0, HEAD_BYTES, 0);
      return true;
    } catch (error) {
      if (error instanceof Error && 'code' in error) return false;
      throw error;
    }
  }

  /**
   * Call after closing the connection. To close a descriptor drops all locks of the process on the file (fcntl(2)), which
   * other connections need. The last connection removes the file; before that the descriptor stays open.
   */
  close(): void {
    if (this.#descriptor === undefined || fstatSync(this.#descriptor).nlink > 0) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
