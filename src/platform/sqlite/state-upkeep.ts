import { existsSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Limits } from '../../lib/limits.ts';
import { inWords, isFull } from '../../lib/system-fault.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Timer } from '../clock/index.ts';
import type { DiskSpace } from '../host/index.ts';
import type { Log } from '../log/index.ts';
import type { Instruments } from '../metrics/index.ts';
import type { Database } from './database.ts';
import { TaskWorker } from '../workers/index.ts';
import { localCopies } from './local-copies.ts';
import { type OpenFile, storeAndDelete, type UpkeepResult, type UpkeepTask } from './upkeep-tasks.ts';
import { removeFile } from '../files/index.ts';

interface StateUpkeepOptions extends Instruments {
  database: Database;
  dataDir: string;
  migrationsDir: string;
  space: Pick<DiskSpace, 'isLow' | 'room'>;
  /** Entry of the thread. */
  entry: string;
  limits: Limits['state'];
  /** A copy could not be made because the database is damaged. */
  onDamage: (fault: string) => void;
}

const RESERVE_FILE = 'start.reserve';
/** Less helps no start. */
const RESERVE_BYTES_MIN = 262_144;

/**
 * Maintains state.db while the gateway runs: moves its write-ahead log into the file, keeps free room inside for a full
 * disk, and makes local copies. Works beside the event loop, in a thread that lives while there is work.
 */
export class StateUpkeep {
  readonly #options: StateUpkeepOptions;
  readonly #worker: TaskWorker<UpkeepTask & OpenFile, UpkeepResult>;
  readonly #freeBytes: () => number;
  /** Without free pages: the size of a copy. */
  readonly #storedBytes: () => number;
  readonly #changes: () => number;
  readonly #failures;
  #timer: Timer | undefined;
  #checkpointing: Promise<void> | undefined;
  #working: Promise<void> | undefined;
  #judgedAtMs: MonotonicMs = -Infinity;
  #copiedAtMonotonicMs: MonotonicMs | undefined;
  #copiedChanges = -1;
  #copyFault: string | undefined;
  readonly #scarceListeners = new Set<() => void>();

  constructor(options: StateUpkeepOptions) {
    const { database, clock, log, metrics, limits, entry } = options;
    this.#options = options;
    this.#worker = new TaskWorker({
      entry,
      waiting: 2,
      timeoutMs: limits.upkeepTimeoutMs,
      heapBytes: limits.upkeepHeapBytes,
      idleMs: limits.upkeepIdleMs,
      clock,
      log,
    });
    const numberOf = (expression: string): (() => number) => {
      const tables = 'pragma_page_count, pragma_freelist_count, pragma_page_size';
      const statement = database.prepare<[], number>(`SELECT ${expression} FROM ${tables}`).pluck();
      return () => statement.get() ?? 0;
    };
    this.#freeBytes = numberOf('freelist_count * page_size');
    this.#storedBytes = numberOf('(page_count - freelist_count) * page_size');
    this.#changes = numberOf('total_changes()');
    this.#failures = metrics.counter(
      'state_upkeep_failures_total',
      'Tasks of tending state.db that failed.',
      { task: ['judge', 'checkpoint', 'room', 'copy', 'reserve', 'upkeep'] },
    );
    metrics.measured('state_room_bytes', 'Room inside state.db that a full disk cannot take away.', () =>
      this.#freeBytes(),
    );
    // A failure here must not reach the caller, whose data is committed.
    database.onCommitted(() => this.#attempt('checkpoint', () => this.#afterCommit()));
  }

  /** Call right after opening: on a full disk other programs may take the room that was kept for the start. */
  holdRoom(): void {
    if (this.#options.space.isLow) this.#takeLogRoom();
  }

  /** Begins maintenance. Call when the gateway is ready: before, it would slow the start of a small board. */
  start(): void {
    this.#work();
    this.#timer = this.#options.clock.setRepeating(this.#options.limits.upkeepIntervalMs, () => this.#work());
  }

  /** The disk is full and the room kept for state is being used up: older rows must make room. */
  get isScarce(): boolean {
    const { space, limits } = this.#options;
    return space.isLow && this.roomShare() * 100 < limits.scarcePercent;
  }

  /** Calls the listener at every upkeep while room is scarce; returns the unsubscribe. */
  onScarce(listener: () => void): () => void {
    this.#scarceListeners.add(listener);
    return () => void this.#scarceListeners.delete(listener);
  }

  /** The free room for state on a full disk, as a share of what should be there. */
  roomShare(): number {
    return Math.min(1, this.#freeBytes() / this.#options.limits.freeBytes);
  }

  /** Why the last copy could not be made; undefined: it was made. */
  get copyFault(): string | undefined {
    return this.#copyFault;
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#worker.stop();
    await Promise.all([this.#checkpointing, this.#working]);
  }

  #takeLogRoom(): void {
    const { database, limits } = this.#options;
    this.#attempt('room', () =>
      database.transaction(() => storeAndDelete(database, Math.min(limits.walBytes, this.#freeBytes()))),
    );
  }

  #afterCommit(): void {
    const { database, limits } = this.#options;
    if (!database.hasLogOver(limits.checkpointBytes)) return;
    // If the thread does not keep up, the log must still stay bounded.
    if (database.hasLogOver(limits.checkpointAtOnceBytes)) database.checkpoint();
    else
      this.#checkpointing ??= this.#run({ kind: 'checkpoint', path: database.path }).then(() => {
        this.#checkpointing = undefined;
      });
  }

  #work(): void {
    this.#attempt('room', () => {
      if (this.isScarce) for (const listener of this.#scarceListeners) listener();
    });
    this.#working ??= this.#tend()
      .catch((error: unknown) => this.#failed('upkeep', error))
      .finally(() => (this.#working = undefined));
  }

  async #tend(): Promise<void> {
    const { database, space, limits, dataDir } = this.#options;
    await this.#judgeSuspicion();
    if (database.failure) await this.#tryToStore();
    if (space.isLow) return;
    await this.#makeRoom();
    await keepStartReserve(dataDir, limits.startReserveBytes, (error) => this.#failed('reserve', error));
    await this.#copy();
  }

  /** Damage that a statement met is repaired by a new start, which replaces the file by a copy. */
  async #judgeSuspicion(): Promise<void> {
    const { database, clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs - this.#judgedAtMs < limits.judgeIntervalMs || !database.takeSuspicion()) return;
    this.#judgedAtMs = nowMs;
    await this.#run({ kind: 'judge', path: database.path });
  }

  /** Finds out whether the disk takes data again, even if no caller writes. */
  async #tryToStore(): Promise<void> {
    const { database } = this.#options;
    database.transaction(() => storeAndDelete(database, 1));
    await database.durable();
  }

  async #makeRoom(): Promise<void> {
    const { database, limits, space } = this.#options;
    const { walBytes, freeBytes } = limits;
    const isShort = this.#freeBytes() < (freeBytes * limits.freePercentMin) / 100;
    // A stop removes the log; after a kill it is there.
    const logBytes = statSync(`${database.path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    if (!isShort && logBytes >= walBytes) return;
    if (space.room.freeBytes < 2 * freeBytes + walBytes) return;
    await this.#run({ kind: 'room', path: database.path, walBytes, freeBytes });
  }

  /** Makes a copy if it is due and something has changed since the last one. */
  async #copy(): Promise<void> {
    const { database, clock, log, limits, dataDir, migrationsDir, space } = this.#options;
    const folder = join(dataDir, 'backups');
    const nowMs = clock.monotonicMs();
    this.#copiedAtMonotonicMs ??= this.#newestCopyAtMs(folder);
    const isDue =
      this.#copiedAtMonotonicMs === undefined || nowMs - this.#copiedAtMonotonicMs >= this.#copyIntervalMs();
    if (!isDue || this.#changes() === this.#copiedChanges) return;
    if (space.room.freeBytes < 4 * database.sizeBytes()) {
      log.warnLimited('copy room', 86_400_000, 'there is no room for a copy of state.db', {
        free_bytes: space.room.freeBytes,
      });
      return;
    }
    this.#copiedAtMonotonicMs = nowMs;
    this.#copiedChanges = this.#changes();
    const fault = await this.#run({
      kind: 'copy',
      path: database.path,
      folder,
      nowMs: clock.wallMs(),
      migrationsDir,
      keep: { hourly: limits.copiesHourly, daily: limits.copiesDaily },
    });
    // Tried again even if nothing changes until then.
    if (fault !== undefined) this.#copiedChanges = -1;
    this.#copyFault = fault && `${folder}: ${fault}`;
  }

  /** A start makes no copy while one of before is young: starts one after another would wear the card out. */
  #newestCopyAtMs(folder: string): MonotonicMs | undefined {
    const { clock } = this.#options;
    const [newest] = localCopies(folder);
    // A copy of later than now was named by a wrong clock.
    return newest && clock.monotonicMs() - Math.max(0, clock.wallMs() - newest.madeAtMs);
  }

  /** A large database is copied less often, to spare the flash card. */
  #copyIntervalMs(): DurationMs {
    const { copyBytesPerHour, copyIntervalMs, copyIntervalMaxMs } = this.#options.limits;
    const affordedMs = (this.#storedBytes() / copyBytesPerHour) * 3_600_000;
    return Math.min(copyIntervalMaxMs, Math.max(copyIntervalMs, affordedMs));
  }

  /** Resolves with the reason of a failure, which is also logged. */
  async #run(task: UpkeepTask): Promise<string | undefined> {
    try {
      const { damage } = await this.#worker.run({ ...task, descriptor: this.#options.database.descriptor });
      if (damage !== undefined) this.#options.onDamage(damage);
      return damage;
    } catch (error) {
      if (this.#timer !== undefined) this.#failed(task.kind, error);
      return inWords(error);
    }
  }

  #attempt(task: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failed(task, error);
    }
  }

  #failed(task: string, error: unknown): void {
    this.#failures.inc({ task });
    this.#options.log.warnLimited(`state ${task}`, 3_600_000, 'state.db could not be tended', {
      task,
      error,
    });
  }
}

/** Reserves room, as a file, that a start on a full disk needs for write-ahead logs and small files. */
async function keepStartReserve(
  dataDir: string,
  sizeBytes: number,
  onFailed: (error: unknown) => void,
): Promise<void> {
  const path = join(dataDir, RESERVE_FILE);
  if (statSync(path, { throwIfNoEntry: false })?.size === sizeBytes) return;
  try {
    removeFile(path);
    // Filled with text, because a file system may leave zeros out.
    await writeFile(path, Buffer.alloc(sizeBytes, 'reserve '), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    onFailed(error);
    try {
      removeFile(path);
    } catch (left) {
      onFailed(left);
    }
  }
}

/** After everything is closed on a full disk: reserves the room of the write-ahead logs for the next start. */
export function takeStartReserve(dataDir: string, mostBytes: number, log: Log): void {
  const path = join(dataDir, RESERVE_FILE);
  if (existsSync(path)) return;
  for (let sizeBytes = mostBytes; sizeBytes >= RESERVE_BYTES_MIN; sizeBytes /= 2)
    try {
      writeFileSync(path, Buffer.alloc(sizeBytes, 'reserve '), { flag: 'wx', mode: 0o600 });
      return;
    } catch (error) {
      removeFile(path);
      if (!isFull(error)) {
        log.warn('no room is kept for the next start', { path, error });
        return;
      }
    }
}

/** Before anything is opened on a full disk: frees the reserved room. */
export function releaseStartReserve(dataDir: string, log: Log): void {
  const path = join(dataDir, RESERVE_FILE);
  if (!existsSync(path)) return;
  try {
    removeFile(path);
    log.warn('the disk is full, room kept for a start is used');
  } catch (error) {
    log.warn('the disk is full, and the room kept for a start cannot be used', { path, error });
  }
}
