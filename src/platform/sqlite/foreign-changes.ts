/**
 * Whether another connection, of this process or of another one, has changed the database: for who asks before every
 * answer. `PRAGMA data_version` tells, but takes and drops locks for it. The head of the index that all connections share
 * is another one after every commit, and is written before the commit returns to whoever made it, and read as a file it
 * costs a fourth (https://sqlite.org/walformat.html#the_wal_index_file_format).
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';

/** The first of its two copies, which is written last. */
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

  /** Another number whenever another connection has changed the database. */
  version(): number {
    if (!this.#readHead()) return this.#ask.get() ?? 0;
    if (this.#version !== undefined && this.#seen.equals(this.#known)) return this.#version;
    // Of this head or of a later one, which will differ from this one. Nothing is known of a head that fails here.
    const version = this.#ask.get() ?? 0;
    this.#seen.copy(this.#known);
    return (this.#version = version);
  }

  /** False on a disk that fails, or without another descriptor: SQLite has the index in its memory all the same. */
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
   * For after the connection. Whoever closes a descriptor drops all locks that his process has on the file (fcntl(2)),
   * and those of SQLite keep others from beginning the index anew. Only when the file is gone, which the last connection
   * sees to, does nobody have one; else it stays open.
   */
  close(): void {
    if (this.#descriptor === undefined || fstatSync(this.#descriptor).nlink > 0) return;
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}
