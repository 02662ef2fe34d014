/**
 * Recent positions of a target. A server that crashed may have lost what it acknowledged last, so that is sent again; but
 * a server that closes its connections again and again must not get the same samples for ever.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Place } from './model.ts';

/** Positions remembered within the time that is sent again. */
const REMEMBERED = 8;
/** After more returns to one position in a row, the reconnects are no restarts of the server. */
const RETURNS_MAX = 4;

export const isSamePlace = (a: Place, b: Place): boolean =>
  isDeepStrictEqual([a.position, a.records], [b.position, b.records]);

export class RecentPositions {
  readonly #resendMs: DurationMs;
  /** The oldest first. */
  #places: { place: Place; atMs: MonotonicMs }[] = [];
  #returned: { to: Place; times: number } | undefined;
  /** The last reconnect caused no resending, because the same samples were resent too often. */
  isInVain = false;

  constructor(resendMs: DurationMs) {
    this.#resendMs = resendMs;
  }

  get oldest(): Place | undefined {
    return this.#places[0]?.place;
  }

  /** Samples sent from this position on were acknowledged. */
  add({ position, records }: Place, atMs: MonotonicMs): void {
    const last = this.#places.at(-1);
    if (last && atMs - last.atMs < this.#resendMs / REMEMBERED) return;
    this.#places = [
      ...this.#places.filter((passed) => atMs - passed.atMs <= this.#resendMs),
      { place: { position, records }, atMs },
    ];
  }

  /** The position from which to send again; undefined: nothing is sent again. */
  takeReturn(): Place | undefined {
    const to = this.oldest;
    this.#places = [];
    this.isInVain = false;
    if (!to) return undefined;
    const isAgain = this.#returned !== undefined && isSamePlace(to, this.#returned.to);
    this.#returned = { to, times: isAgain ? (this.#returned?.times ?? 0) + 1 : 1 };
    this.isInVain = this.#returned.times > RETURNS_MAX;
    return this.isInVain ? undefined : to;
  }
}
