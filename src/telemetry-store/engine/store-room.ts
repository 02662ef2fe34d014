/** Room of the store on the disk, and how much of it the journal takes. */
import type { BlockStore } from './block-store.ts';
import type { RetentionPolicy } from './retention.ts';

/** Room on the disk; it may change while the store runs. */
export interface EngineRoom {
  /** Limit of history.db, whatever is in it. */
  fileMaxBytes: number;
  /** Journal records are sealed and released so that the journal stays below this. */
  journalMaxBytes: number;
}

/** Room of a store that shares it with no other data. */
export const wholeRoom = ({ sizeMaxBytes }: RetentionPolicy): EngineRoom => ({
  fileMaxBytes: sizeMaxBytes,
  journalMaxBytes: sizeMaxBytes,
});

/** G: shares of the journal's room: a quarter is sealed while another quarter comes in. */
const SEAL_SHARE = 1 / 4;
const OVERLOAD_SHARE = 1 / 2;

export class StoreRoom {
  readonly #store: BlockStore;
  #room: EngineRoom;
  #isLimited = false;
  /** Bytes of journal records that are not sealed. */
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

  /** Limits the file. The limit cannot be below its size, so it is set again once the file was shortened. */
  limitFile(): void {
    if (this.#isLimited) return;
    this.#store.limitSize(this.fileMaxBytes);
    this.#isLimited = this.#store.size().fileBytes <= this.fileMaxBytes;
  }

  /**
   * The limit to make room by when nothing more can be written: the size in use, so that a good part is removed. On a
   * disk that others filled it stays the budget: each try would remove more, and still nothing could be written.
   */
  whenFullBytes(isDiskLow: boolean): number {
    return isDiskLow ? this.fileMaxBytes : Math.min(this.fileMaxBytes, this.#store.size().usedBytes);
  }

  /** A journal record was added. */
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

  /** No further records should come before that. */
  get isOverloaded(): boolean {
    return this.#openBytes > this.#room.journalMaxBytes * OVERLOAD_SHARE;
  }
}
