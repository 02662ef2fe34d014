/**
 * The room that history may take: never more than configured, and less where the disk is almost full. Looks at the
 * files every few seconds and tells who writes them.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type HistoryBudget, historyBudget } from '../lib/history-budget.ts';
import type { Limits } from '../lib/limits.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import type { DiskSpace } from '../platform/host/index.ts';
import type { Log } from '../platform/log/index.ts';

export interface HistoryRoomOptions {
  /** history.db; what belongs to it has names that begin with its name. */
  path: string;
  journalFolder: string;
  maxBytes: number;
  space: Pick<DiskSpace, 'room' | 'isLow' | 'onChange'>;
  /** False while what can be read of a damaged copy is still taken over. */
  mayRemoveDamaged: () => boolean;
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'history' | 'state'>;
}

/** Bytes on the disk of what belongs to the history. */
interface Sizes {
  usedBytes: number;
  setAsideBytes: number;
  /** Damaged copies, the oldest first. */
  damaged: { path: string; sizeBytes: number }[];
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
    this.#budget = this.#judge(this.#sizes());
    const { clock, space, limits } = options;
    this.#timer = clock.setRepeating(limits.history.checkIntervalMs, () => this.#check());
    this.#unsubscribe = space.onChange(() => this.#check(true));
  }

  get budget(): HistoryBudget {
    return this.#budget;
  }

  get telemetry(): { fileMaxBytes: number; journalMaxBytes: number } {
    const { fileMaxBytes, journalMaxBytes } = this.#budget;
    return { fileMaxBytes, journalMaxBytes };
  }

  /** False: what is left of the disk is for state, and history makes no further file. */
  get mayGrow(): boolean {
    return !this.#options.space.isLow;
  }

  /** What those removed before its time who keep no count themselves. */
  get removedEarly(): number {
    return this.#removedEarly;
  }

  noteRemoved(count: number): void {
    this.#removedEarly += count;
  }

  /** Bytes of everything that belongs to the history, read from the disk now. */
  usedBytes(): number {
    return this.#sizes().usedBytes;
  }

  /** Called after each change worth telling, and when the disk becomes almost full or is no longer. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  stop(): void {
    this.#timer.cancel();
    this.#unsubscribe();
  }

  #check(isAsked = false): void {
    const { history } = this.#options.limits;
    const before = this.#budget.fileMaxBytes;
    const sizes = this.#sizes();
    this.#removeDamaged(sizes);
    const budget = this.#judge(sizes);
    const isChanged =
      Math.abs(budget.fileMaxBytes - before) > (this.#options.maxBytes * history.stepPercent) / 100;
    if (!isChanged && !isAsked) return;
    this.#budget = budget;
    for (const listener of this.#listeners) listener();
  }

  #judge({ usedBytes, setAsideBytes }: Sizes): HistoryBudget {
    const { maxBytes, space, limits } = this.#options;
    const use = { maxBytes, usedBytes, setAsideBytes, logBytes: limits.state.walBytes, disk: space.room };
    return historyBudget(use, limits.history);
  }

  /** Damaged copies are for a person to look at; where they leave no room for what is used, the oldest go. */
  #removeDamaged(sizes: Sizes): void {
    const { log, limits, mayRemoveDamaged } = this.#options;
    if (!mayRemoveDamaged()) return;
    const mostBytes = (this.#budget.totalBytes * limits.history.setAsidePercentMax) / 100;
    for (const { path, sizeBytes } of sizes.damaged) {
      if (sizes.setAsideBytes <= mostBytes) return;
      rmSync(path, { force: true });
      sizes.setAsideBytes -= sizeBytes;
      sizes.usedBytes -= sizeBytes;
      log.warn('a damaged copy of the history was removed to make room', { path, size_bytes: sizeBytes });
    }
  }

  #sizes(): Sizes {
    const { path, journalFolder } = this.#options;
    const sizes: Sizes = { usedBytes: 0, setAsideBytes: 0, damaged: [] };
    const [name, journal] = [basename(path), basename(journalFolder)];
    const folder = dirname(path);
    const add = (file: string, isSetAside: boolean): number => {
      const sizeBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
      sizes.usedBytes += sizeBytes;
      if (isSetAside) sizes.setAsideBytes += sizeBytes;
      return sizeBytes;
    };
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const found = join(folder, entry.name);
      if (entry.name.startsWith(name) && entry.isFile()) {
        const isDamaged = entry.name.startsWith(`${name}.damaged-`);
        const sizeBytes = add(found, isDamaged || entry.name.startsWith(`${name}.of-`));
        if (isDamaged) sizes.damaged.push({ path: found, sizeBytes });
      } else if (entry.name.startsWith(journal) && entry.isDirectory())
        for (const segment of readdirSync(found))
          add(join(found, segment), entry.name !== journal || segment.endsWith('.damaged'));
    }
    // The moment stands in the name.
    sizes.damaged.sort((a, b) => a.path.localeCompare(b.path));
    return sizes;
  }
}
