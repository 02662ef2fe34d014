/** What the store may take on the disk, and how much of it the journal has. */
import type { BlockStore } from './block-store.ts';
import type { RetentionPolicy } from './retention.ts';

/** It changes while the store runs. */
export interface EngineRoom {
  /** Limit of history.db, whatever is in it. */
  fileMaxBytes: number;
  /** Journal records are sealed and released so that the journal stays below this. */
  journalMaxBytes: number;
}

/** Room of a store that shares it with nobody. */
export const wholeRoom = ({ sizeMaxBytes }: RetentionPolicy): EngineRoom => ({
  fileMaxBytes: sizeMaxBytes,
  journalMaxBytes: sizeMaxBytes,
});

/** G: parts of the journal's room: as much is sealed as is taken in meanwhile, and as much waits in memory. */
const SEAL_SHARE = 1 / 4;
const OVERLOAD_SHARE = 1 / 2;

export class StoreRoom {
  readonly #store: BlockStore;
  #room: EngineRoom;
  #isLimited = false;
  /** Of journal records that are not sealed. */
  #openBytes = 0;

  constructor(store: BlockStore, room: EngineRoom) {
    this.#store = store;
    this.#room = room;
  }

  set(room: EngineRoom): void {
    this.#room = room;
    this.#isLimited = false;
  }

  get fileMaxBytes(): number {
    return this.#room.fileMaxBytes;
  }

  /** Limits the file. One that is larger cannot be limited below its size: again when it was shortened. */
  limitFile(): void {
    if (this.#isLimited) return;
    this.#store.limitSize(this.fileMaxBytes);
    this.#isLimited = this.#store.size().fileBytes <= this.fileMaxBytes;
  }

  /**
   * A limit that makes room for a good part of what is there, when nothing more can be written. A disk that others
   * filled takes no more of the history than its budget says: what is removed beyond would be removed again at each
   * try, and give nobody room.
   */
  whenFullBytes(isDiskLow: boolean): number {
    return isDiskLow ? this.fileMaxBytes : Math.min(this.fileMaxBytes, this.#store.size().usedBytes);
  }

  /** A journal record that is not sealed. */
  added(record: Uint8Array): void {
    this.#openBytes += record.length;
  }

  sealed(): void {
    this.#openBytes = 0;
  }

  /** The journal should be sealed. */
  get isJournalLarge(): boolean {
    return this.#openBytes >= this.#room.journalMaxBytes * SEAL_SHARE;
  }

  /** Nothing more should come until it was. */
  get isOverloaded(): boolean {
    return this.#openBytes > this.#room.journalMaxBytes * OVERLOAD_SHARE;
  }
}
