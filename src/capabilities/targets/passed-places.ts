/**
 * Where a target stood lately. An engine that ended may have forgotten what it acknowledged last: that is sent again. One that
 * ends its connections again and again is not sent the same for ever.
 */
import { isDeepStrictEqual } from 'node:util';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Place } from './model.ts';

/** So many places are remembered of the time that is sent again. */
const REMEMBERED = 8;
/** G: more returns to one place in a row are the way of this target, and no starts of it. */
const RETURNS_MAX = 4;

export const isSamePlace = (a: Place, b: Place): boolean =>
  isDeepStrictEqual([a.position, a.records], [b.position, b.records]);

export class PassedPlaces {
  readonly #resendMs: DurationMs;
  /** The oldest first. */
  #places: { place: Place; atMs: MonotonicMs }[] = [];
  #returned: { to: Place; times: number } | undefined;
  /** The last time nothing was sent again, because the same was too often. */
  isInVain = false;

  constructor(resendMs: DurationMs) {
    this.#resendMs = resendMs;
  }

  get oldest(): Place | undefined {
    return this.#places[0]?.place;
  }

  /** What was sent from this place on is acknowledged. */
  add({ position, records }: Place, atMs: MonotonicMs): void {
    const last = this.#places.at(-1);
    if (last && atMs - last.atMs < this.#resendMs / REMEMBERED) return;
    this.#places = [
      ...this.#places.filter((passed) => atMs - passed.atMs <= this.#resendMs),
      { place: { position, records }, atMs },
    ];
  }

  /** From where on is sent again; undefined: from nowhere. */
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
