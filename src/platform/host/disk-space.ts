import { statfsSync } from 'node:fs';
import { inWords, unlessRefused } from '../../lib/system-fault.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../clock/index.ts';

interface Room {
  totalBytes: number;
  freeBytes: number;
  /** Files that can still be made; undefined where the file system has no such limit. */
  freeFiles: number | undefined;
}

/** How much room the disk of the data folder has, looked at every few seconds. */
export class DiskSpace {
  readonly #limits: Limits['disk'];
  readonly #read: () => Room;
  readonly #timer: Timer;
  readonly #listeners = new Set<(isLow: boolean) => void>();
  #room: Room;
  #fault: string | undefined;
  #isLow: boolean;

  constructor(options: { folder: string; clock: Clock; limits: Limits['disk']; read?: () => Room }) {
    const { folder, clock, limits } = options;
    this.#limits = limits;
    this.#read = options.read ?? (() => readRoom(folder));
    this.#room = this.#read();
    this.#isLow = this.#judge();
    this.#timer = clock.setRepeating(limits.checkIntervalMs, () => this.#check());
  }

  get room(): Room {
    return this.#room;
  }

  /** Little is left, and that is for state: whatever is not needed for control gives way. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Why the disk does not tell how much room it has; undefined: it does. */
  get fault(): string | undefined {
    return this.#fault;
  }

  /** Nothing more can be stored but in room that was taken before; false while the disk does not tell. */
  get isFull(): boolean {
    if (this.#fault !== undefined) return false;
    return this.#room.freeBytes < this.#limits.fullBytes || this.#room.freeFiles === 0;
  }

  /** Called whenever it becomes low or is no longer; returns the unsubscribe. */
  onChange(listener: (isLow: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  stop(): void {
    this.#timer.cancel();
  }

  #check(): void {
    this.#fault = undefined;
    this.#room = unlessRefused(this.#read, (error) => {
      this.#fault = inWords(error);
      return NO_ROOM;
    });
    const isLow = this.#judge();
    if (isLow === this.#isLow) return;
    this.#isLow = isLow;
    for (const listener of this.#listeners) listener(isLow);
  }

  #judge(): boolean {
    return leavesLittle(this.#room, this.#limits);
  }
}

/** The same of the disk of a file or folder, looked at now. */
export function isDiskLow(path: string, limits: Limits['disk']): boolean {
  return leavesLittle(
    unlessRefused(
      () => readRoom(path),
      () => NO_ROOM,
    ),
    limits,
  );
}

function leavesLittle(
  { totalBytes, freeBytes, freeFiles }: Room,
  { lowBytes, lowPercent, lowFiles }: Limits['disk'],
): boolean {
  return (
    totalBytes === 0 ||
    freeBytes < Math.min(lowBytes, (totalBytes * lowPercent) / 100) ||
    (freeFiles ?? lowFiles) < lowFiles
  );
}

/** A disk that does not answer has room for nothing. */
const NO_ROOM: Room = { totalBytes: 0, freeBytes: 0, freeFiles: undefined };

function readRoom(folder: string): Room {
  const { blocks, bavail, bsize, files, ffree } = statfsSync(folder);
  return {
    totalBytes: blocks * bsize,
    freeBytes: bavail * bsize,
    // Some file systems make places for files as they need them and report none.
    freeFiles: files > 0 ? ffree : undefined,
  };
}
