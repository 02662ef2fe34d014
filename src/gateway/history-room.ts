/**
 * The room of the history: never more than configured, and less when the disk is almost full. Measures the files every few
 * seconds, and tells their writers.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Limits } from '../lib/limits.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import type { DiskSpace } from '../platform/host/index.ts';
import type { Log } from '../platform/log/index.ts';
import { foreignPath, removeSetAside, type SetAside, setAsideOf } from '../platform/sqlite/index.ts';

interface HistoryRoomOptions {
  /** history.db; names of files that belong to it begin with its name. */
  path: string;
  journalFolder: string;
  maxBytes: number;
  space: Pick<DiskSpace, 'room' | 'isLow' | 'onChange'>;
  /** Whether files that were set aside may be removed; not while a damaged copy is still being read. */
  mayRemove: () => boolean;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'history' | 'state'>;
}

/** Bytes of the history on the disk. */
interface Sizes {
  usedBytes: number;
  setAsideBytes: number;
  /** Files and folders that may be removed, in this order. */
  surplus: SetAside[];
}

export class HistoryRoom {
  readonly #options: HistoryRoomOptions;
  readonly #listeners = new Set<() => void>();
  readonly #timer: Timer;
  readonly #unsubscribe: () => void;
  #budget: HistoryBudget;
  #removedEarly = 0;

  constructor(options: HistoryRoomOptions) {
    this.#options = options;
    this.#budget = this.#judge(this.#firstSizes());
    const { clock, space, limits } = options;
    this.#timer = clock.setRepeating(limits.history.checkIntervalMs, () => this.#checkSafely(false));
    this.#unsubscribe = space.onChange(() => this.#checkSafely(true));
  }

  get budget(): HistoryBudget {
    return this.#budget;
  }

  get telemetry(): { fileMaxBytes: number; journalMaxBytes: number } {
    const { fileMaxBytes, journalMaxBytes } = this.#budget;
    return { fileMaxBytes, journalMaxBytes };
  }

  /** False when the rest of the disk is for state: the history makes no further file. */
  get mayGrow(): boolean {
    return !this.#options.space.isLow;
  }

  /** Entries that were removed early by parts without a count of their own. */
  get removedEarly(): number {
    return this.#removedEarly;
  }

  noteRemoved(count: number): void {
    this.#removedEarly += count;
  }

  /** Bytes of the whole history, read from the disk now. */
  usedBytes(): number {
    return this.#sizes().usedBytes;
  }

  /** Called after each significant change, and when the disk becomes almost full or is so no longer. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  stop(): void {
    this.#timer.cancel();
    this.#unsubscribe();
  }

  /** A disk that fails must not end the gateway. */
  #checkSafely(isAsked: boolean): void {
    try {
      this.#check(isAsked);
    } catch (error) {
      this.#options.log.warnLimited('history room', 3_600_000, 'the room of history could not be tended', {
        error,
      });
    }
  }

  #check(isAsked: boolean): void {
    const { history } = this.#options.limits;
    const before = this.#budget.fileMaxBytes;
    const sizes = this.#sizes();
    this.#removeSurplus(sizes);
    const budget = this.#judge(sizes);
    const isChanged =
      Math.abs(budget.fileMaxBytes - before) > (this.#options.maxBytes * history.stepPercent) / 100;
    if (!isChanged && !isAsked) return;
    this.#budget = budget;
    for (const listener of this.#listeners) listener();
  }

  /** The gateway starts even if the disk cannot be read now; the next check corrects the sizes. */
  #firstSizes(): Sizes {
    try {
      return this.#sizes();
    } catch (error) {
      this.#options.log.warn('the size of the history is not known yet', { error });
      return { usedBytes: 0, setAsideBytes: 0, surplus: [] };
    }
  }

  #judge({ usedBytes, setAsideBytes }: Sizes): HistoryBudget {
    const { maxBytes, space, limits } = this.#options;
    const use = { maxBytes, usedBytes, setAsideBytes, logBytes: limits.state.walBytes, disk: space.room };
    return historyBudget(use, limits.history);
  }

  /** Files that were set aside are for a person to look at; if they leave too little room, the oldest are removed. */
  #removeSurplus(sizes: Sizes): void {
    const { log, limits, mayRemove } = this.#options;
    if (!mayRemove()) return;
    const mostBytes = (this.#budget.totalBytes * limits.history.setAsidePercentMax) / 100;
    for (const surplus of sizes.surplus) {
      if (sizes.setAsideBytes <= mostBytes) return;
      const sizeBytes = removeSetAside(surplus);
      sizes.setAsideBytes -= sizeBytes;
      sizes.usedBytes -= sizeBytes;
      log.warn(
        surplus.kind === 'damaged'
          ? 'a damaged copy of the history was removed to make room'
          : 'a history of another site was removed to make room',
        { path: surplus.path, size_bytes: sizeBytes },
      );
    }
  }

  #sizes(): Sizes {
    const { path, journalFolder } = this.#options;
    const aside = [path, journalFolder].flatMap(setAsideOf);
    const sizes: Sizes = { usedBytes: 0, setAsideBytes: 0, surplus: surplusOf(aside, path) };
    const add = (sizeBytes: number, isSetAside: boolean): void => {
      sizes.usedBytes += sizeBytes;
      if (isSetAside) sizes.setAsideBytes += sizeBytes;
    };
    for (const { sizeBytes } of aside) add(sizeBytes, true);
    for (const suffix of ['', '-wal', '-shm']) add(sizeOf(path + suffix), false);
    for (const segment of namesIn(journalFolder))
      add(sizeOf(join(journalFolder, segment)), segment.endsWith('.damaged'));
    return sizes;
  }
}

/**
 * Damaged copies first, then histories of other sites, the oldest first. The newest of these stays however large it is: it
 * may belong to a state that was lost, and is used again when that comes back.
 */
function surplusOf(aside: readonly SetAside[], path: string): SetAside[] {
  const damaged = aside.filter(({ kind }) => kind === 'damaged');
  const foreign = aside.filter(({ kind }) => kind === 'foreign');
  const newest = foreign.findLast((found) => found.path.startsWith(foreignPath(path, '')));
  const site = newest?.path.slice(path.length);
  return [...damaged, ...foreign.filter((found) => site === undefined || !found.path.endsWith(site))];
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Empty for a folder that is missing or cannot be read: the part that writes there reports it. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && 'code' in error) return [];
    throw error;
  }
}

// Divides the room of the history. Pure: sizes in, limits out.

interface HistoryUse {
  /** Configured for everything that belongs to the history. */
  maxBytes: number;
  /** Used on the disk now. */
  usedBytes: number;
  /** Bytes of files that were set aside and are not written any more; included in the total. */
  setAsideBytes: number;
  /** Write-ahead log of history.db, at its largest. */
  logBytes: number;
  disk: { totalBytes: number; freeBytes: number };
}

interface HistoryBudget {
  /** All that the history may take. */
  totalBytes: number;
  /** Limit of history.db. */
  fileMaxBytes: number;
  journalMaxBytes: number;
  deviceLogMaxBytes: number;
  ruleLogMaxBytes: number;
}

/** Keeps less history to leave room on the disk, down to a floor; files that were set aside count, up to a half. */
export function historyBudget(use: HistoryUse, limits: Limits['history']): HistoryBudget {
  const { totalBytes: diskBytes, freeBytes } = use.disk;
  const keptFreeBytes = Math.min(
    Math.max(limits.freeBytes, (diskBytes * limits.freePercent) / 100),
    (diskBytes * limits.freePercentMax) / 100,
  );
  const reachableBytes = use.usedBytes + freeBytes - keptFreeBytes;
  const totalBytes = Math.min(use.maxBytes, Math.max(limits.floorBytes, reachableBytes));
  const setAsideBytes = Math.min(use.setAsideBytes, (totalBytes * limits.setAsidePercentMax) / 100);
  const journalMaxBytes = ((totalBytes - setAsideBytes) * limits.journalPercent) / 100;
  const fileMaxBytes = Math.floor(totalBytes - setAsideBytes - journalMaxBytes - use.logBytes);
  return {
    totalBytes,
    fileMaxBytes,
    journalMaxBytes,
    deviceLogMaxBytes: (fileMaxBytes * limits.deviceLogPercent) / 100,
    ruleLogMaxBytes: (fileMaxBytes * limits.ruleLogPercent) / 100,
  };
}
