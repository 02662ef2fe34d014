import { renameSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { unavailable } from '../../lib/errors.ts';
import type { Clock, Timer } from '../clock/index.ts';
import { isThere, makePrivateFolder, removeFile } from '../files/index.ts';
import { failsToRead, isDamage } from './damage.ts';
import { type Database, lastingStatement, openDatabase, type OpenOptions } from './database.ts';
import { diskFails } from '../../lib/system-fault.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import { NewerDatabaseError, readMigrations } from './migrations.ts';
import { createOrm, type Orm } from './orm.ts';
import { foreignPath, freeName, nameOfNewer, newestOfNewer, setAside, setAsideOf } from './local-copies.ts';
import { salvageFirst, type SalvageTables } from './salvage.ts';

/** A user with a connection of its own to the file, such as a thread. */
interface DatabaseUser {
  /** The file is about to be replaced: close it. */
  release(): Promise<void>;
  /** It can be opened, for the first time or again. */
  opened(): void;
}

/** The owner of the data. */
export interface Owner {
  id: string;
  read(database: Database): string | undefined;
  write(database: Database, id: string): void;
}

interface DegradableOptions extends OpenOptions {
  /** How a damaged file is taken over. */
  salvage: SalvageTables;
  /** Files and folders that are moved with the database of another owner. */
  companions: readonly string[];
  /** Whether the disk below cannot be read now. Default: looks. */
  failsToRead?: (path: string) => boolean;
}

/** Soon enough after a person made room or repaired permissions. */
const RETRY_MS = 5_000;
/** The part of a database that stores of plain SQL and group commits use. */
export type SqlDatabase = Pick<Database, 'path' | 'prepare' | 'orm' | 'transaction' | 'durable'>;

/**
 * A database that the gateway can do without. While it cannot be opened, every use fails with `unavailable` and opening is
 * tried again. A damaged file is set aside and a new one begun, with the small tables, so that ids are never used twice;
 * the local command `salvage-history` adds the rest. Statements stay valid.
 */
export class DegradableDatabase implements SqlDatabase {
  readonly path: string;
  /** Typed statements, which stay valid like those of `prepare`. */
  readonly orm: Orm;
  readonly #options: DegradableOptions;
  readonly #clock: Clock;
  readonly #users = new Set<DatabaseUser>();
  #owner: Owner | undefined;
  #database: Database | undefined;
  #failure: Error | undefined;
  #retry: Timer | undefined;
  readonly #work = new SerialQueue();
  /** The damaged file that was just set aside. */
  #replaced: string | undefined;
  #isReplacing = false;
  /** Until the first opening: the last process was killed while it had the file open. */
  #wasOpen: boolean;
  #isClosed = false;

  constructor(options: DegradableOptions) {
    this.path = options.path;
    // Drizzle uses only `prepare` of a connection.
    this.orm = createOrm(this as never);
    this.#options = options;
    this.#clock = options.clock;
    this.#wasOpen = options.wasOpen === true;
  }

  /** Opens it, or keeps trying. A file of another owner or a newer version is set aside, and comes back with these. */
  open(owner: Owner): void {
    this.#owner = owner;
    this.#tryToOpen();
  }

  /** Why it cannot be used now; undefined when it can. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  get isOpen(): boolean {
    return this.#database !== undefined;
  }

  /** Registers a user; calls `opened` at once when the database is open. */
  join(user: DatabaseUser): () => void {
    this.#users.add(user);
    if (this.#database) user.opened();
    return () => void this.#users.delete(user);
  }

  /** Names of the files that were set aside: damaged ones, and those of other sites. */
  setAsideNames(): { damaged: string[]; foreign: string[] } {
    const found = setAsideOf(this.path);
    const namesOf = (wanted: 'damaged' | 'foreign'): string[] =>
      found.filter(({ kind }) => kind === wanted).map(({ path }) => basename(path));
    return { damaged: namesOf('damaged'), foreign: namesOf('foreign') };
  }

  /** Reports an error; a damaged file is set aside from the next turn on. */
  report(fault: unknown): void {
    if (!isDamage(fault) || this.#isReplacing || this.#isClosed) return;
    this.#isReplacing = true;
    this.#failure = fault as Error;
    this.#work.run(() => this.#replace(fault)).catch((error: unknown) => this.#failed(error));
  }

  prepare<Parameters extends unknown[] | object = unknown[], Row = unknown>(
    sql: string,
  ): BetterSqlite3.Statement<Parameters extends unknown[] ? Parameters : [Parameters], Row> {
    return lastingStatement((use) => this.#use(use), sql) as never;
  }

  transaction<Result>(fn: () => Result): Result {
    return this.#use((database) => database.transaction(fn));
  }

  durable(): Promise<void> {
    return this.#use((database) => database.durable());
  }

  sizeBytes(): number {
    return this.#database?.sizeBytes() ?? 0;
  }

  close(): void {
    this.#isClosed = true;
    this.#retry?.cancel();
    this.#closeDatabase();
  }

  #use<Result>(fn: (database: Database) => Result): Result {
    if (!this.#database) throw unavailable('The history cannot be read now.', { cause: this.#failure });
    try {
      return fn(this.#database);
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.report(error);
      throw unavailable('Part of the history is damaged; what can be read of it is there in a moment.', {
        cause: error,
      });
    }
  }

  #tryToOpen(): void {
    if (this.#isClosed) return;
    try {
      this.#database = this.#openOwned();
    } catch (error) {
      this.#closeDatabase();
      if (isDamage(error)) this.report(error);
      else this.#failed(error);
      return;
    }
    const hadFailed = this.#failure !== undefined;
    this.#failure = undefined;
    if (hadFailed) this.#options.log.info('database can be used again', { database: this.path });
    for (const user of this.#users) user.opened();
  }

  #failed(error: unknown): void {
    this.#isReplacing = false;
    this.#failure = error as Error;
    this.#options.log.warnLimited(
      `open:${this.path}`,
      60_000,
      'database cannot be opened, will be tried again',
      { database: this.path, error, retry_ms: RETRY_MS },
    );
    if (!this.#isClosed) this.#retry = this.#clock.setTimer(RETRY_MS, () => this.#tryToOpen());
  }

  async #replace(error: unknown): Promise<void> {
    const { log } = this.#options;
    for (const user of this.#users) await user.release();
    this.#closeDatabase();
    if (this.#isClosed) return;
    // The file is intact: the disk fails to read it now.
    if ((this.#options.failsToRead ?? failsToRead)(this.path)) throw diskFails(error);
    if (isThere(this.path)) {
      this.#replaced = setAside(this.path, this.#clock);
      log.error('damaged database set aside, a new one is begun', { aside: this.#replaced, error });
    }
    this.#isReplacing = false;
    this.#tryToOpen();
  }

  #closeDatabase(): void {
    const database = this.#database;
    this.#database = undefined;
    try {
      database?.close();
    } catch (error) {
      this.#options.log.warn('database did not close in order', { database: this.path, error });
    }
  }

  /** Data of another owner is never mixed with ours: it is set aside, and comes back with its owner. */
  #openOwned(): Database {
    const { log, migrationsDir } = this.#options;
    const owner = this.#owner as Owner;
    const newer = newestOfNewer(this.path, readMigrations(migrationsDir).length);
    if (newer !== undefined) this.#takeBack(newer);
    const isMissing = !isThere(this.path);
    const own = foreignPath(this.path, owner.id);
    const wasOpen = this.#wasOpen && !isMissing && newer === undefined;
    this.#wasOpen = false;
    if (isMissing && isThere(own)) this.#takeBack(own);
    // After a power cut during a move: the log that was left must not be read into a new file.
    else if (isMissing) for (const suffix of ['-wal', '-shm']) removeFile(this.path + suffix);
    let database: Database;
    try {
      database = openDatabase({ ...this.#options, isFirst: true, wasOpen });
    } catch (error) {
      if (!(error instanceof NewerDatabaseError)) throw error;
      this.#moveAway(nameOfNewer(error.found));
      log.error('history of a newer version was set aside, it comes back with that version', { error });
      return this.#openOwned();
    }
    let found: string | undefined;
    try {
      if (isMissing) this.#copySmallTables(database);
      found = owner.read(database);
      if (found === undefined) owner.write(database, owner.id);
      if (found === undefined || found === owner.id) return database;
    } catch (error) {
      database.close();
      throw error;
    }
    database.close();
    this.#moveAway(found);
    log.error('history of another site was set aside, it comes back with that site', {
      site_id: found,
      aside: foreignPath(this.path, found),
    });
    return this.#openOwned();
  }

  /** The database last: after a power cut at any point the next opening completes the move. */
  get #parts(): string[] {
    return [...this.#options.companions, this.path];
  }

  #moveAway(name: string): void {
    for (const path of this.#parts) move(path, freeName(foreignPath(path, name)));
  }

  /** Puts a file that was set aside back in place; the one in its place is set aside as ours. */
  #takeBack(aside: string): void {
    const suffix = aside.slice(this.path.length);
    for (const path of this.#parts) {
      if (!isThere(path + suffix)) continue;
      move(path, freeName(foreignPath(path, (this.#owner as Owner).id)));
      move(path + suffix, path);
    }
    this.#options.log.info('history that was set aside was taken back', { from: aside });
  }

  #copySmallTables(database: Database): void {
    const aside = this.#replaced;
    this.#replaced = undefined;
    if (aside === undefined) return;
    const { log, salvage } = this.#options;
    try {
      salvageFirst(aside, database, salvage);
    } catch (error) {
      log.error('nothing could be taken over from the damaged database', { aside, error });
    }
  }
}

function move(from: string, to: string): void {
  for (const suffix of ['', '-wal', '-shm'])
    if (isThere(from + suffix)) {
      makePrivateFolder(dirname(to));
      renameSync(from + suffix, to + suffix);
    }
}
