import type { CanFrame } from './can-bus.ts';

/** `oldest` and `newest`: which frame gives way when there is no room. */
type MailboxRule = { sizeMax: number; drops: 'oldest' | 'newest' };

/** Frames of a bus that wait until a script takes them, bounded in number for each identifier. Pure. */
export class CanMailbox {
  readonly #rule: MailboxRule;
  /** Undefined: all of them, in one row. */
  readonly #ids: ReadonlySet<number> | undefined;
  readonly #rows = new Map<number, { frames: CanFrame[]; dropped: number }>();

  constructor(ids: readonly number[] | undefined, rule: MailboxRule) {
    this.#rule = rule;
    this.#ids = ids && new Set(ids);
  }

  put(frame: CanFrame): void {
    if (this.#ids?.has(frame.id) === false) return;
    const row = this.#row(this.#ids === undefined ? ALL : frame.id);
    if (row.frames.length < this.#rule.sizeMax) {
      row.frames.push(frame);
      return;
    }
    row.dropped += 1;
    if (this.#rule.drops === 'newest') return;
    row.frames.shift();
    row.frames.push(frame);
  }

  /** Everything of the identifier, oldest first; undefined takes from the row of all. */
  take(id: number = ALL): CanFrame[] {
    const row = this.#row(id);
    const { frames } = row;
    row.frames = [];
    return frames;
  }

  /** Frames that gave way since the last call. */
  takeDropped(id: number): number {
    const row = this.#row(id);
    const { dropped } = row;
    row.dropped = 0;
    return dropped;
  }

  #row(id: number): { frames: CanFrame[]; dropped: number } {
    const known = this.#rows.get(id);
    if (known) return known;
    const row = { frames: [], dropped: 0 };
    // An identifier that the script did not order has no frames, and no row is kept for it.
    if (id === ALL || this.#ids?.has(id) === true) this.#rows.set(id, row);
    return row;
  }
}

/** No identifier has this number. */
const ALL = -1;
