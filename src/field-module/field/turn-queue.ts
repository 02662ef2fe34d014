import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

/**
 * A queue for a connection or a line. Turns go round between owners, then between the units of each owner; the requests
 * of one owner to one unit keep their order.
 */
export class TurnQueue<Item> {
  readonly #owners = new Map<unknown, Map<number, Item[]>>();
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** @param owner compared by identity: the run of a script */
  push(owner: unknown, unitId: number, item: Item): void {
    const units = this.#owners.getOrInsertComputed(owner, () => new Map<number, Item[]>());
    units.getOrInsertComputed(unitId, () => []).push(item);
    this.#count += 1;
  }

  /** Takes the next one; its owner and its unit go to the end. */
  shift(): Item | undefined {
    for (const [owner, units] of this.#owners)
      for (const [unitId, items] of units) {
        const item = items.shift();
        this.#count -= 1;
        units.delete(unitId);
        this.#owners.delete(owner);
        if (items.length > 0) units.set(unitId, items);
        if (units.size > 0) this.#owners.set(owner, units);
        return item;
      }
    return undefined;
  }
}

// Growing pauses between attempts to open something that may never come back; times are monotonic.

export class RetryPause {
  readonly #pause: DoublingPause;
  #untilMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  /** Doubles from `reconnectFirstMs` to `reconnectMaxMs`. */
  constructor(limits: { readonly reconnectFirstMs: DurationMs; readonly reconnectMaxMs: DurationMs }) {
    this.#pause = new DoublingPause({ firstMs: limits.reconnectFirstMs, maxMs: limits.reconnectMaxMs });
  }

  /** An attempt failed; the next one may be made after the pause. */
  failed(nowMs: MonotonicMs): void {
    this.#untilMs = nowMs + this.#pause.next();
  }

  /** It works: the next failure begins with the shortest pause again. */
  succeeded(): void {
    this.#pause.reset();
    this.#untilMs = Number.NEGATIVE_INFINITY;
  }

  /** True while no attempt may be made. */
  isResting(nowMs: MonotonicMs): boolean {
    return nowMs < this.#untilMs;
  }
}
