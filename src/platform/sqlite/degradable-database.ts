import { renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { unavailable } from '../../lib/errors.ts';
import { type Clock, nextTurn, type Timer } from '../clock/index.ts';
import { isThere, makePrivateFolder, readPrivateFile, writePrivateFile } from '../files/index.ts';
import { isDamage } from './damage.ts';
import { type Database, openDatabase, type OpenOptions } from './database.ts';
import { diskFails } from '../../lib/system-fault.ts';
import { NewerDatabaseError, readMigrations } from './migrations.ts';
import { LastingStatement } from './lasting-statement.ts';
import { createOrm, type Orm } from './orm.ts';
import { failsToRead } from './read-fault.ts';
import {
  foreignPath,
  freeName,
  isNameOfDamaged,
  nameOfNewer,
  newestOfNewer,
  setAside,
  setAsideOf,
} from './set-aside.ts';
import { Salvage } from './salvage.ts';

/** Somebody with a connection of its own to the same file, such as a thread. */
interface DatabaseUser {
  /** The file is about to be replaced: let go of it. */
  release(): Promise<void>;
  /** It can be opened, for the first time or again. */
  opened(): void;
}

/** Whose data it is. */
export interface Owner {
  id: string;
  read(database: Database): string | undefined;
  write(database: Database, id: string): void;
}

interface DegradableOptions extends OpenOptions {
  /** Tables of a damaged file that are taken over while the new one is used already. */
  salvageLater: readonly string[];
  /** Tables that triggers of others fill: they are not taken over. */
  computed?: readonly string[];
  /** Files and folders that belong to the database and are moved with it when it is another owner's. */
  companions: readonly string[];
  /** Whether the disk below cannot be read now. Default: looks. */
  failsToRead?: (path: string) => boolean;
}

/** G: an owner of the box who made room or mended permissions is noticed soon. */
const RETRY_MS = 5_000;
/** Ends the name of the note, beside the database, that a damaged file is still to be taken over. */
export const SALVAGE_MARK = '.salvaging';

/** What stores of plain SQL and their group commit use of a database. */
export type SqlDatabase = Pick<Database, 'path' | 'prepare' | 'orm' | 'transaction' | 'durable'>;

/**
 * A database that the gateway can do without. Where it cannot be opened, every use of it fails with `unavailable`
 * and it is tried again; where it turns out to be damaged, the file is renamed, a new one takes its place, and
 * what can still be read is taken over. Statements outlive all of that.
 */
export class DegradableDatabase implements SqlDatabase {
  readonly path: string;
  /** Typed statements; they outlive an opening of the file as those of `prepare` do. */
  readonly orm: Orm;
  readonly #options: DegradableOptions;
  readonly #clock: Clock;
  readonly #users = new Set<DatabaseUser>();
  #owner: Owner | undefined;
  #database: Database | undefined;
  /** Counts openings, so that statements know when they are of an earlier one. */
  #generation = 0;
  #failure: Error | undefined;
  #retry: Timer | undefined;
  #work: Promise<void> = Promise.resolve();
  #isReplacing = false;
  #isClosed = false;

  constructor(options: DegradableOptions) {
    this.path = options.path;
    // Of the connection drizzle uses nothing but `prepare`.
    this.orm = createOrm(this as never);
    this.#options = options;
    this.#clock = options.clock;
  }

  /** Opens it, or keeps trying. What belongs to another owner or a newer version is moved away first, and comes back. */
  open(owner: Owner): void {
    this.#owner = owner;
    this.#tryToOpen();
  }

  /** Why it cannot be used now; undefined when it can. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** What can be read of a damaged copy is still taken over. */
  get isSalvaging(): boolean {
    return isSalvaging(this.path);
  }

  get isOpen(): boolean {
    return this.#database !== undefined;
  }

  /** Told from now on, at once when it is open. */
  join(user: DatabaseUser): () => void {
    this.#users.add(user);
    if (this.#database) user.opened();
    return () => void this.#users.delete(user);
  }

  /** Names of the files that were set aside for a person to look at: damaged ones, and those of other sites. */
  setAsideNames(): { damaged: string[]; foreign: string[] } {
    const found = setAsideOf(this.path);
    const namesOf = (wanted: 'damaged' | 'foreign'): string[] =>
      found.filter(({ kind }) => kind === wanted).map(({ path }) => basename(path));
    return { damaged: namesOf('damaged'), foreign: namesOf('foreign') };
  }

  /** Takes note of an error that somebody met; damage is mended from the next turn on. */
  report(error: unknown): void {
    if (!isDamage(error) || this.#isReplacing || this.#isClosed) return;
    this.#isReplacing = true;
    this.#failure = error as Error;
    this.#work = this.#replaceAfter(this.#work, error);
  }

  prepare<Parameters extends unknown[] | object = unknown[], Row = unknown>(
    sql: string,
  ): BetterSqlite3.Statement<Parameters extends unknown[] ? Parameters : [Parameters], Row> {
    return new LastingStatement(
      (use) => this.#use(use),
      sql,
      () => this.#generation,
    ) as never;
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
    let salvagePath: string | undefined;
    try {
      this.#database = this.#openOwned();
      salvagePath = this.#salvagePath();
    } catch (error) {
      this.#closeDatabase();
      if (isDamage(error)) {
        this.report(error);
        return;
      }
      this.#failed(error);
      return;
    }
    const hadFailed = this.#failure !== undefined;
    this.#failure = undefined;
    this.#generation++;
    if (hadFailed) this.#options.log.info('database can be used again', { database: this.path });
    if (salvagePath !== undefined) this.#resumeSalvage(salvagePath, this.#database);
    for (const user of this.#users) user.opened();
  }

  #failed(error: unknown): void {
    this.#isReplacing = false;
    this.#failure = error as Error;
    this.#options.log.warnLimited(
      `open:${this.path}`,
      60_000,
      'database cannot be opened, will be tried again',
      {
        database: this.path,
        error,
        retry_ms: RETRY_MS,
      },
    );
    if (!this.#isClosed) this.#retry = this.#clock.setTimer(RETRY_MS, () => this.#tryToOpen());
  }

  async #replaceAfter(previous: Promise<void>, error: unknown): Promise<void> {
    await previous;
    try {
      await this.#replace(error);
    } catch (failure) {
      this.#failed(failure);
    }
  }

  async #replace(error: unknown): Promise<void> {
    const { log } = this.#options;
    for (const user of this.#users) await user.release();
    this.#closeDatabase();
    if (this.#isClosed) return;
    // It is whole when the disk is well again.
    if ((this.#options.failsToRead ?? failsToRead)(this.path)) throw diskFails(error);
    if (isThere(this.path)) {
      // The mark first: wherever the power is cut, the next opening knows what to take over.
      const aside = setAside(this.path, this.#clock, (named) =>
        writePrivateFile(this.path + SALVAGE_MARK, basename(named)),
      );
      log.error('damaged database set aside, a new one was begun', { aside, error });
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

  /** Another owner's data is never mixed with ours: it moves away, and comes back with its owner. */
  #openOwned(): Database {
    const { log, migrationsDir } = this.#options;
    const owner = this.#owner as Owner;
    const newer = newestOfNewer(this.path, readMigrations(migrationsDir).length);
    if (newer !== undefined) {
      // It is about what was there meanwhile.
      rmSync(this.path + SALVAGE_MARK, { force: true });
      this.#takeBack(newer);
    }
    const isMissing = !isThere(this.path);
    const own = foreignPath(this.path, owner.id);
    if (isMissing && isThere(own)) this.#takeBack(own);
    else if (isMissing) this.#moveStrays();
    let database: Database;
    try {
      database = openDatabase({ ...this.#options, isFirst: true });
    } catch (error) {
      if (!(error instanceof NewerDatabaseError)) throw error;
      this.#moveAway(nameOfNewer(error.found));
      log.error('history of a newer version was set aside, it comes back with that version', { error });
      return this.#openOwned();
    }
    let found: string | undefined;
    try {
      if (isMissing) this.#salvageFirst(database);
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

  /** The database last: wherever the power is cut, the next opening goes on with what is missing. */
  get #parts(): string[] {
    return [...this.#options.companions, this.path];
  }

  /** What is still to be taken over belongs to it, too, and stays where it was set aside. */
  #moveAway(name: string): void {
    rmSync(this.path + SALVAGE_MARK, { force: true });
    for (const path of this.#parts) move(path, freeName(foreignPath(path, name)));
  }

  /** What was set aside takes its place again; what is there is set aside as ours. */
  #takeBack(aside: string): void {
    const suffix = aside.slice(this.path.length);
    for (const path of this.#parts) {
      if (!isThere(path + suffix)) continue;
      move(path, freeName(foreignPath(path, (this.#owner as Owner).id)));
      move(path + suffix, path);
    }
    this.#options.log.info('history that was set aside was taken back', { from: aside });
  }

  /** The power was cut while the file was set aside: its log must not be read into a new file. */
  #moveStrays(): void {
    const aside = this.#salvagePath();
    for (const suffix of ['-wal', '-shm'])
      if (aside === undefined) rmSync(this.path + suffix, { force: true });
      else if (isThere(this.path + suffix)) renameSync(this.path + suffix, aside + suffix);
  }

  #salvagePath(): string | undefined {
    const mark = this.path + SALVAGE_MARK;
    const name = readPrivateFile(mark);
    if (name === undefined) return undefined;
    if (isNameOfDamaged(name, this.path)) return join(dirname(this.path), basename(name));
    // A disk may have left nothing of the mark; then it was about the newest.
    const newest = setAsideOf(this.path).findLast(({ kind }) => kind === 'damaged');
    if (!newest) rmSync(mark);
    return newest?.path;
  }

  #salvageFirst(database: Database): void {
    const path = this.#salvagePath();
    if (path === undefined) return;
    this.#salvage(path, database, (salvage) => salvage.first());
  }

  #resumeSalvage(path: string, database: Database): void {
    this.#work = this.#salvageAfter(this.#work, path, database);
  }

  async #salvageAfter(previous: Promise<void>, path: string, database: Database): Promise<void> {
    await previous;
    try {
      await this.#salvageRest(path, database);
    } catch (error) {
      this.#options.log.error('not all of the damaged database could be taken over', { aside: path, error });
    }
  }

  async #salvageRest(path: string, database: Database): Promise<void> {
    let salvaged: Salvage | undefined;
    this.#salvage(path, database, (salvage) => (salvaged = salvage), false);
    if (salvaged) {
      try {
        for (const _ of salvaged.rest()) {
          await nextTurn();
          // What is missing is taken over after the next start.
          if (this.#isClosed || this.#database !== database) return;
        }
        this.#options.log.warn('what can be read of the damaged database was taken over', {
          aside: path,
          rows: salvaged.rowCount,
          broken_stretches: salvaged.brokenCount,
        });
      } finally {
        salvaged.close();
      }
    }
    rmSync(this.path + SALVAGE_MARK, { force: true });
    for (const user of this.#users) user.opened();
  }

  /** A file that is no database any more has nothing to give. */
  #salvage(path: string, database: Database, work: (salvage: Salvage) => void, isDone = true): void {
    let salvage: Salvage | undefined;
    try {
      salvage = new Salvage(path, database, this.#options.salvageLater, this.#options.computed);
      work(salvage);
    } catch (error) {
      if (!isDamage(error) && isThere(path)) throw error;
      this.#options.log.error('nothing more can be read of the damaged database', { aside: path, error });
    } finally {
      if (isDone) salvage?.close();
    }
  }
}

/** Whether what can be read of a damaged copy is still to be taken over, by whoever has the database. */
export function isSalvaging(path: string): boolean {
  return isThere(path + SALVAGE_MARK);
}

function move(from: string, to: string): void {
  for (const suffix of ['', '-wal', '-shm'])
    if (isThere(from + suffix)) {
      makePrivateFolder(dirname(to));
      renameSync(from + suffix, to + suffix);
    }
}
