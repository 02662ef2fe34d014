import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type BetterSqlite3 from 'better-sqlite3';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { asSystemFault } from '../../lib/system-fault.ts';
import type { StampCorrection } from '../clock/index.ts';
import { CommitGroup } from '../commit/index.ts';
import { makePrivateFolder, requireUsableFile } from '../files/index.ts';
import type { Instruments } from '../metrics/index.ts';
import { isDamage, requireSound } from './damage.ts';
import { LogEvidence, type LostChanges } from './log-evidence.ts';
import { LogTrust, type SyncFile, WriteAheadLog } from './write-ahead-log.ts';
import { migrate, type MigrationOptions } from './migrations.ts';
import { openFile } from './native.ts';
import { createOrm, type Orm } from './orm.ts';

export interface OpenOptions extends MigrationOptions {
  /** True: the whole file is read first, and damage anywhere in it refused. */
  isChecked?: boolean;
  /**
   * Given: a commit returns before it is on disk, and many commits share one sync beside the event loop. Wait for
   * `durable` before an acknowledgement or an effect outside, and run checkpoints (see `StateUpkeep`). Absent: every
   * commit is synced before it returns.
   */
  sync?: SyncFile;
  /** True: nobody else has the file open, and an earlier program may have ended without closing it. */
  isFirst?: boolean;
  /** With `isFirst`: called when the write-ahead log has lost commits. */
  onLost?: (lost: LostChanges) => void;
  /** With `onLost`: the last process had this file open and was killed, so there must be a log and its index. */
  wasOpen?: boolean;
}

/** Opens, migrates and returns the database. @throws UnrecoverableError for one of a newer version */
export function openDatabase(options: OpenOptions): Database {
  makePrivateFolder(dirname(options.path));
  for (const suffix of ['', '-wal', '-shm']) requireUsableFile(options.path + suffix);
  const evidence =
    options.isFirst && options.onLost ? new LogEvidence(options.path, options.wasOpen === true) : undefined;
  const handle = openFile(options.path);
  try {
    // First: another program (the admin command) may hold the lock for a moment.
    handle.pragma('busy_timeout = 5000');
    // The first read takes over the log of an earlier program; the settings below may already write.
    handle.pragma('user_version');
    const lost = evidence?.lost(handle);
    if (lost) options.onLost?.(lost);
    applyPragmas(handle);
    if (options.isChecked) requireSound(handle);
    migrate(handle, options);
    if (options.sync) shareSyncs(handle);
    return new Database(handle, options);
  } catch (error) {
    handle.close();
    throw error;
  }
}

function applyPragmas(handle: BetterSqlite3.Database): void {
  // Before the first table: lets a file with free pages be shortened without a rewrite.
  handle.pragma('auto_vacuum = INCREMENTAL');
  // Readers do not block the writer, and one sync per commit instead of two.
  handle.pragma('journal_mode = WAL');
  // NORMAL alone kept 0 of 300 committed transactions over a simulated power cut, FULL 300 of 300 (decision 0002).
  handle.pragma('synchronous = FULL');
  handle.pragma('foreign_keys = ON');
  // Sorting must not touch the flash card.
  handle.pragma('temp_store = MEMORY');
  // A schema that was tampered with must not run functions with effects.
  handle.pragma('trusted_schema = OFF');
  // Bounds the write-ahead log after a burst, and keeps this much allocated for a full disk.
  handle.pragma(`journal_size_limit = ${LIMITS.state.walBytes}`);
  handle.pragma('cache_size = -4096');
}

function shareSyncs(handle: BetterSqlite3.Database): void {
  // Commits append without a sync; checkpoints still sync the log before they write, and the file before they reset
  // the log.
  handle.pragma('synchronous = NORMAL');
  handle.pragma('wal_autocheckpoint = 0');
}

/** Measured: 256 KiB, below a millisecond; more pages make the copy no faster. */
const COPIED_PAGES_PER_TURN = 64;

/** One SQLite file: transactions with after-commit work, and when a commit is durable. Statements are in `store.ts` files. */
export class Database {
  readonly path: string;
  /** Typed statements on the tables that `tables.ts` files define; prepare them at construction of a store. */
  readonly orm: Orm;
  readonly #handle: BetterSqlite3.Database;
  readonly #runOutermost: BetterSqlite3.Transaction<(fn: () => unknown) => unknown>;
  readonly #trust: LogTrust;
  readonly #log: WriteAheadLog | undefined;
  readonly #dataVersion: BetterSqlite3.Statement<[], number>;
  #descriptor: number | undefined;
  #pending: (() => void)[] = [];
  #onCommitted: (() => void) | undefined;

  constructor(
    handle: BetterSqlite3.Database,
    { path, sync, isFirst }: Pick<OpenOptions, 'path' | 'sync' | 'isFirst'>,
  ) {
    this.path = path;
    this.#handle = handle;
    this.#trust = new LogTrust(handle);
    if (isFirst) this.#trust.begin(`${path}-wal`);
    reportDiskFaults(handle, this.#trust);
    this.orm = createOrm(handle);
    this.#runOutermost = handle.transaction((fn: () => unknown) => fn());
    this.#log = sync && new WriteAheadLog(handle, { path, sync, trust: this.#trust });
    this.#dataVersion = handle.prepare<[], number>('PRAGMA data_version').pluck();
  }

  /** A statement of plain SQL, where `orm` cannot say it; prepare it at construction of a store. */
  prepare<Parameters extends unknown[] | object = unknown[], Row = unknown>(
    sql: string,
  ): BetterSqlite3.Statement<Parameters extends unknown[] ? Parameters : [Parameters], Row> {
    return this.#handle.prepare(sql) as never;
  }

  /**
   * Runs `fn` in one IMMEDIATE transaction and returns its result; rolls back when it throws. Synchronous:
   * no `await` inside. A call within a transaction becomes a savepoint of it.
   * @throws GatewayError unavailable when the disk does not take the data; and what `fn` throws
   */
  transaction<Result>(fn: () => Result): Result {
    if (this.#handle.inTransaction) return this.#savepoint(fn);
    // Where syncs are shared, `durable` does it.
    if (!this.#log) this.#trust.restore();
    this.#pending = [];
    let result: Result;
    try {
      result = this.#runOutermost.immediate(fn) as Result;
    } catch (error) {
      this.#trust.note(error);
      throw asSystemFault(error);
    }
    if (!this.#log) this.#trust.noteStored();
    const after = this.#pending;
    this.#pending = [];
    runAll(after);
    this.#onCommitted?.();
    return result;
  }

  /**
   * Runs `fn` once the outermost transaction has committed; at once when there is none; never when the
   * transaction or savepoint it was registered in is undone. All such work runs although some of it throws;
   * the first error then leaves `transaction`, whose data is stored nevertheless.
   */
  afterCommit(fn: () => void): void {
    if (this.#handle.inTransaction) this.#pending.push(fn);
    else fn();
  }

  /** The last failure of disk or system; undefined once something was stored again. */
  get failure(): Error | undefined {
    return this.#trust.failure;
  }

  /** Whether a statement met damage since the last call; a disk that cannot be read looks the same. */
  takeSuspicion(): boolean {
    return this.#trust.takeSuspicion();
  }

  /** The result of `read`, or `unknown` while the disk fails, which `failure` shows. */
  readOr<Result>(unknown: Result, read: () => Result): Result {
    try {
      return read();
    } catch (error) {
      if (this.failure === undefined) throw error;
      return unknown;
    }
  }

  get inTransaction(): boolean {
    return this.#handle.inTransaction;
  }

  /**
   * Resolves when everything committed before the call is synced: before that it must not be acknowledged or have
   * effects outside.
   * @throws GatewayError unavailable when the disk refuses
   */
  durable(): Promise<void> {
    return this.#log?.durable() ?? Promise.resolve();
  }

  /** Whether the write-ahead log holds more than so many bytes; always false where every commit is synced. */
  hasLogOver(sizeBytes: number): boolean {
    return this.#log?.isOver(sizeBytes) ?? false;
  }

  /** Changes whenever another connection, of any process, has changed the database; cheap enough for every request. */
  foreignVersion(): number {
    return this.#dataVersion.get() ?? 0;
  }

  /** Called after every outermost transaction, with nothing open. */
  onCommitted(listener: () => void): void {
    this.#onCommitted = listener;
  }

  /** Moves the content of the write-ahead log into the file, synchronously; it syncs, so it may take long. */
  checkpoint(): void {
    this.#handle.pragma('wal_checkpoint(PASSIVE)');
  }

  /**
   * Copies the database, as it is when the copying ends, to `path`, which must not exist. Other work may run meanwhile; a
   * write of another process makes it start again.
   */
  async copyTo(path: string): Promise<void> {
    if (existsSync(path)) throw new Error(`${path} already exists`);
    await this.#handle.backup(path, { progress: () => COPIED_PAGES_PER_TURN });
  }

  /**
   * The file, for reads beside SQLite. Open until `close`: closing the file in this process cancels the locks that SQLite
   * holds on it (https://sqlite.org/howtocorrupt.html, section 2.2).
   */
  get descriptor(): number {
    this.#descriptor ??= openSync(this.path, 'r');
    return this.#descriptor;
  }

  /** Bytes of the file and its write-ahead log. */
  sizeBytes(): number {
    return fileBytes(this.path) + fileBytes(`${this.path}-wal`);
  }

  /** The last connection moves the log into the file and removes it, if the disk lets it. */
  close(): void {
    if (!this.#handle.open) return;
    this.#handle.close();
    this.#log?.close();
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
  }

  #savepoint<Result>(fn: () => Result): Result {
    const registered = this.#pending.length;
    try {
      return this.#handle.transaction(fn)();
    } catch (error) {
      // Work of an undone savepoint must not run after the commit.
      this.#pending.length = registered;
      throw error;
    }
  }
}

/** Statements outside of a transaction report and translate disk faults as `transaction` does. */
function reportDiskFaults(handle: BetterSqlite3.Database, trust: LogTrust): void {
  const opening = { prepare: handle.prepare.bind(handle) };
  const use = <Result>(fn: (of: typeof opening) => Result): Result => {
    try {
      return fn(opening);
    } catch (error) {
      trust.note(error);
      throw asSystemFault(error);
    }
  };
  handle.prepare = (sql: string) => lastingStatement(use, sql) as never;
}

/** Runs every piece of work although one throws; then throws the first error. */
function runAll(work: readonly (() => void)[]): void {
  const errors: unknown[] = [];
  for (const run of work) {
    try {
      run();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}

function fileBytes(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

interface Participant {
  /** Writes everything buffered, inside the transaction; must be repeatable, so it forgets nothing yet. */
  write(): void;
  /** The rows are in the database: forget them. Where syncs are shared, a power cut may still undo it. */
  committed(): void;
  /** The committed rows are on disk: callers that wait for this may be answered. */
  synced?(): void;
}

/** One transaction for the buffered rows of many participants. */
export type GroupCommit = CommitGroup & {
  /** Registers a participant; order of registration is order of writing. */
  join: (participant: Participant) => void;
};

/** The participants' buffered rows share one synced transaction. `CommitGroup` does waiting, windows and retries. */
export function createGroupCommit(
  options: Instruments & {
    database: Pick<Database, 'path' | 'transaction' | 'durable'>;
    name: string;
    limits?: Limits['commits'];
    /** The database turned out to be damaged; called for every commit that fails so. */
    onDamage?: () => void;
  },
): GroupCommit {
  const { database, onDamage, ...rest } = options;
  const participants: Participant[] = [];
  const group = new CommitGroup({
    ...rest,
    target: database.path,
    commit: async () => {
      try {
        database.transaction(() => {
          for (const participant of participants) participant.write();
        });
      } catch (error) {
        if (isDamage(error)) onDamage?.();
        throw error;
      }
      // Before the sync: rows that are buffered while it runs were not written.
      for (const participant of participants) participant.committed();
      await database.durable();
      for (const participant of participants) participant.synced?.();
    },
  });
  return Object.assign(group, {
    join: (participant: Participant): void => void participants.push(participant),
  });
}

// Moments of creation and change, in all tables alike, follow the clock once it is right (decision 0025).

const MOMENT = /^(created|updated|uploaded|changed|attempted)_at_ms$/;

/** Returns what corrects them in one transaction. @param except names of tables that are left as they are */
export function rowStampsOf(
  database: Database,
  except: readonly string[],
): (correction: StampCorrection) => void {
  const statements = columnsOf(database)
    .filter(({ table, column }) => MOMENT.test(column) && !except.includes(table))
    .map(({ table, column }) =>
      // The same as `correctedStamp` and `isWrongStamp` say.
      database.prepare<StampCorrection>(`UPDATE ${table} SET ${column} =
        min(max(${column} + iif(${column} < @plausibleFromMs, @jumpMs, @backMs), @earliestMs), @nowMs)
        WHERE ${column} < @plausibleFromMs OR ${column} > @aheadFromMs`),
    );
  return (correction) =>
    database.transaction(() => {
      for (const statement of statements) statement.run({ ...correction });
    });
}

function columnsOf(database: Database): { table: string; column: string }[] {
  const columns = `SELECT list.name AS "table", info.name AS "column"
    FROM pragma_table_list AS list, pragma_table_info(list.name) AS info
    WHERE list.schema = 'main' AND list.type = 'table'`;
  return database.prepare<[], { table: string; column: string }>(columns).all();
}

type Statement = BetterSqlite3.Statement<unknown[], unknown>;

/** An open connection. */
interface Opening {
  prepare: (sql: string) => Statement;
}

/**
 * A statement that is prepared when it is first used, and again for every other opening of its database; what drizzle and
 * our stores use of one. Most of a start's hundreds of statements are not needed for a while.
 */
export function lastingStatement(
  use: <Result>(fn: (opening: Opening) => Result) => Result,
  sql: string,
): Pick<Statement, 'pluck' | 'raw' | 'run' | 'get' | 'all'> {
  const modes = new Set<'pluck' | 'raw'>();
  let prepared: { opening: Opening; statement: Statement } | undefined;
  const statementIn = (opening: Opening): Statement => {
    if (prepared?.opening === opening) return prepared.statement;
    const statement = opening.prepare(sql);
    for (const mode of modes) statement[mode]();
    prepared = { opening, statement };
    return statement;
  };
  const lasting = {
    pluck: () => {
      modes.add('pluck');
      return lasting as Statement;
    },
    raw: () => {
      modes.add('raw');
      return lasting as Statement;
    },
    run: (...parameters: unknown[]) => use((opening) => statementIn(opening).run(...parameters)),
    get: (...parameters: unknown[]) => use((opening) => statementIn(opening).get(...parameters)),
    all: (...parameters: unknown[]) => use((opening) => statementIn(opening).all(...parameters)),
  };
  return lasting;
}
