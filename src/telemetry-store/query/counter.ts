/**
 * What a counter counted from reading to reading, as far as its readings can be trusted. Counters of the field read 0
 * while their device sleeps or starts, go on from the last value that was saved, run over at 16 or 32 bits, are exchanged,
 * and have single readings that are wrong.
 */
import type { DurationS, EpochS } from '../../lib/time.ts';

/**
 * G: a counter that is back at its old value within this time was not reset: an inverter that reads 0 all night does so
 * for up to 18 hours in winter. It is below a day, so that an answer of the next day still completes the one before.
 */
export const RETURN_S: DurationS = 18 * 3_600;

interface CounterBounds {
  /** Readings further apart say nothing of the time in between. */
  reachS: DurationS;
  /** Per second: a counter that rises faster was set. */
  rateMax: number;
}

type Book = (fromS: EpochS, toS: EpochS, amount: number) => void;

interface Reading {
  timeS: EpochS;
  value: number;
  /** Since when the counter has had this value. */
  sinceS: EpochS;
}

interface Fall {
  /** The last reading before, and the first after it. */
  high: Reading;
  fellS: EpochS;
  /** The lowest reading since. */
  low: number;
  /** Amount booked since, in case that it was a reset. */
  booked: number;
  /** Counts from the fall on, to be booked if it was a reset. */
  inner?: Counter;
  pending: number;
}

interface Rise {
  before: Reading;
  after: Reading;
  /** Undefined: faster than any; the counter was set. */
  amounts: [fromS: EpochS, toS: EpochS, amount: number][] | undefined;
  /** Earlier falls. */
  deep: readonly Fall[];
  shallow: Fall | undefined;
}

/** G: falls within falls; of more, which readings that only ever fall have, the inner ones count nothing. */
const LEVELS = 4;

/** Takes readings in order of time and books what was counted between them, each stretch of time once. */
export class Counter {
  readonly #bounds: CounterBounds;
  readonly #book: Book;
  readonly #onSet: (timeS: EpochS) => void;
  readonly #levels: number;
  #last: Reading | undefined;
  /** A device that starts or sleeps reads 0: what its counter counted before the first other reading is not known. */
  #onlyZero = true;
  /** Until when falls were judged. */
  #expiredS: EpochS = Number.NEGATIVE_INFINITY;
  /** The last rise, which is booked when the next reading does not show that it was a single wrong one. */
  #held: Rise | undefined;
  /** To less than half, outermost first: a reset or a run-over, unless the value jumps back. Each is half of the one before. */
  #deep: readonly Fall[] = [];
  /** To more than half: the counter goes on from a saved value. Nothing counts until it is above its old value. */
  #shallow: Fall | undefined;

  /**
   * @param onSet gets the time of a reading that is too much higher than the one before
   * @param levels of falls within falls that are still judged
   */
  constructor(
    bounds: CounterBounds,
    book: Book,
    onSet: (timeS: EpochS) => void = () => undefined,
    levels = LEVELS,
  ) {
    this.#bounds = bounds;
    this.#book = book;
    this.#onSet = onSet;
    this.#levels = levels;
  }

  take(timeS: EpochS, value: number): void {
    if (this.#last && timeS <= this.#last.timeS) return;
    this.expire(timeS);
    const held = this.#held;
    if (held && !held.amounts) this.#onSet(held.after.timeS);
    if (held && value < held.after.value && value >= held.before.value) {
      this.#last = held.before;
      this.#deep = held.deep;
      this.#shallow = held.shallow;
      this.#held = undefined;
    } else this.#bookHeld();
    const last = this.#last;
    const next = { timeS, value, sinceS: last?.value === value ? last.sinceS : timeS };
    this.#last = next;
    const begins = this.#onlyZero;
    this.#onlyZero &&= value === 0;
    if (!last || begins) return;
    this.#shallow?.inner?.take(timeS, value);
    if (value < last.value) this.#fall(last, next);
    else this.#rise(last, next);
  }

  /** Decides what must be decided at a time: a fall so long ago was a reset. */
  expire(nowS: EpochS): void {
    this.#expiredS = Math.max(this.#expiredS, nowS);
    // One that still reads 0 counted nothing, so it may have slept for weeks.
    const sleeps = this.#last?.value === 0;
    this.#deep = this.#deep.filter(({ fellS, low }) => nowS - fellS <= RETURN_S || (sleeps && low === 0));
    const fall = this.#shallow;
    if (!fall || nowS - fall.fellS <= RETURN_S) return;
    this.#shallow = undefined;
    const { fellS, pending, inner } = fall;
    if (!inner) return;
    if (inner.lastS > fellS && pending > 0) this.#book(fellS, inner.lastS, pending);
    this.#held = inner.#held;
    this.#deep = inner.#deep;
    this.#shallow = inner.#shallow;
    this.expire(nowS);
  }

  /** Time of the last reading. */
  get lastS(): EpochS {
    return this.#last?.timeS ?? Number.NEGATIVE_INFINITY;
  }

  /** Until when readings may decide whether a fall that began before a time was a reset; in the past when that is known. */
  undecidedS(beforeS: EpochS): EpochS {
    const falls = [...this.#deep, ...(this.#shallow ? [this.#shallow] : [])];
    const begun = falls.filter(
      ({ high, fellS }) => high.timeS < beforeS && fellS + RETURN_S >= this.#expiredS,
    );
    return Math.max(...begun.map(({ fellS }) => fellS + RETURN_S));
  }

  /** Whether the next reading may undo something that was counted before a time. */
  holdsBefore(timeS: EpochS): boolean {
    return this.#held?.amounts?.some(([fromS]) => fromS < timeS) ?? false;
  }

  /** No reading follows. */
  end(): void {
    if (this.#held && !this.#held.amounts) this.#onSet(this.#held.after.timeS);
    this.#bookHeld();
  }

  /** Books what could still turn out to be wrong, if it lies before a time. */
  settle(beforeS: EpochS): void {
    if (this.#held && this.#held.after.timeS < beforeS) this.#bookHeld();
  }

  #fall(high: Reading, next: Reading): void {
    for (const fall of this.#deep) fall.low = Math.min(fall.low, next.value);
    // The inner counter judges it.
    if (this.#shallow) return;
    const fall = { high, fellS: next.timeS, low: next.value, booked: 0, pending: 0 };
    if (next.value >= high.value / 2 || high.value <= 0) this.#hold(fall, next);
    else this.#deep = [...this.#deep, fall];
  }

  /** No amount counts before the old value is reached; `next` is the first reading to count from if it never is. */
  #hold(fall: Fall, next: Reading): void {
    this.#shallow = fall;
    if (this.#levels === 0) return;
    const add: Book = (_fromS, _toS, amount) => (fall.pending += amount);
    fall.inner = new Counter(this.#bounds, add, undefined, this.#levels - 1);
    fall.inner.take(next.timeS, next.value);
  }

  #rise(before: Reading, after: Reading): void {
    const deep = this.#deep;
    const shallow = this.#shallow;
    let returned = shallow && after.value >= shallow.high.value ? shallow : undefined;
    for (let fall = this.#deep.at(-1); fall; fall = this.#deep.at(-1)) {
      const half = (fall.high.value - fall.low) / 2;
      const isJump = after.value - before.value > half;
      if (!isJump && after.value < fall.low + half) break;
      this.#deep = this.#deep.slice(0, -1);
      // It climbed: a reset.
      if (!isJump) continue;
      if (after.value < fall.high.value) {
        this.#hold({ ...fall, low: after.value }, after);
        return;
      }
      returned = fall;
    }
    if (returned) this.#shallow = undefined;
    else if (shallow) return;
    const amounts = returned ? this.#ofReturn(returned, before, after) : this.#ofRise(before, after);
    this.#held = { before, after, amounts, deep, shallow };
  }

  #bookHeld(): void {
    for (const [fromS, toS, amount] of this.#held?.amounts ?? []) {
      this.#book(fromS, toS, amount);
      for (const fall of this.#deep) fall.booked += amount;
    }
    this.#held = undefined;
  }

  #ofRise(before: Reading, after: Reading): Rise['amounts'] {
    const { reachS, rateMax } = this.#bounds;
    const rise = after.value - before.value;
    if (rise > rateMax * (after.timeS - before.sinceS)) return undefined;
    return after.timeS - before.timeS <= reachS ? [[before.timeS, after.timeS, rise]] : [];
  }

  /** The counter is at or above its old value again: it counted the difference, less what was booked since. */
  #ofReturn({ high, fellS, booked }: Fall, before: Reading, after: Reading): Rise['amounts'] {
    const { reachS, rateMax } = this.#bounds;
    const amount = Math.max(0, after.value - high.value - booked);
    if (amount > rateMax * (after.timeS - high.sinceS)) return undefined;
    // Results of the distant past were answered without this reading.
    const past = after.timeS - fellS <= RETURN_S ? [[high.timeS, fellS] as const] : [];
    const gapsS = [...past, [before.timeS, after.timeS] as const].filter(
      ([fromS, toS]) => toS - fromS <= reachS,
    );
    const lengthS = gapsS.reduce((sum, [fromS, toS]) => sum + toS - fromS, 0);
    return gapsS.map(([fromS, toS]) => [fromS, toS, (amount * (toS - fromS)) / lengthS]);
  }
}
