/**
 * Memory of the newest samples: pages of one size in a few large buffers, which all series share. With columns of their
 * own, thousands of series would need tens of thousands of small buffers that grow one by one.
 */
import type { EpochS } from '../../lib/time.ts';
import type { Samples } from '../codec/samples.ts';

const SLAB_SHIFT = 10;
const SLAB_PAGES = 1 << SLAB_SHIFT;
/** G: on average half a page of each series is empty. */
const PAGE_SAMPLES = 32;
/** Two values, then their times. With thousands of series each page has left the cache, so a sample lies in one place. */
const PAIR_DOUBLES = 3;
const FIRST_TIME = 4;
const PAGE_DOUBLES = (PAGE_SAMPLES / 2) * PAIR_DOUBLES;

/** Index of a sample of a page among the doubles of its slab. */
function placeOf(page: number, within: number): number {
  return (page % SLAB_PAGES) * PAGE_DOUBLES + (within >>> 1) * PAIR_DOUBLES + (within & 1);
}

/** Index of its time among the words of the slab. */
function timePlaceOf(page: number, within: number): number {
  return ((page % SLAB_PAGES) * PAGE_DOUBLES + (within >>> 1) * PAIR_DOUBLES) * 2 + FIRST_TIME + (within & 1);
}

/** A buffer of many pages. */
class Slab {
  readonly numbers = new Float64Array(SLAB_PAGES * PAGE_DOUBLES);
  readonly times = new Uint32Array(this.numbers.buffer);
  /** For each page the one before it; for a free page the next free one. */
  readonly previous: Int32Array;
  /** The first free page. */
  free: number;
  /** Pages that are not free. */
  used = 0;

  constructor(firstPage: number) {
    this.previous = Int32Array.from({ length: SLAB_PAGES }, (_, place) => firstPage + place + 1);
    this.previous[SLAB_PAGES - 1] = 0;
    // Page 0 is never used: its number means none.
    this.free = Math.max(1, firstPage);
  }
}

/** A page is known by its number; 0 is none. */
export class OpenPages {
  readonly #slabs: Slab[] = [];
  /** Slab of the last page that was taken. */
  #at = 0;
  #used = 0;
  /** The most pages in use since the last `trim`. */
  #mostUsed = 0;

  /** Bytes of all pages, used or free. */
  get sizeBytes(): number {
    return this.#slabs.reduce(
      (sum, { numbers, previous }) => sum + numbers.byteLength + previous.byteLength,
      0,
    );
  }

  /** Appends `scaled / power` as sample `number` to those that end on the page `last`; returns its page. */
  append(last: number, number: number, timestampS: EpochS, scaled: number, power: number): number {
    const within = number % PAGE_SAMPLES;
    const page = within === 0 ? this.#take(last) : last;
    const { numbers, times } = this.#slabOf(page);
    numbers[placeOf(page, within)] = scaled / power;
    times[timePlaceOf(page, within)] = timestampS;
    return page;
  }

  #take(previous: number): number {
    const slab = this.#slabWithRoom();
    const page = slab.free;
    slab.free = slab.previous[page % SLAB_PAGES] as number;
    slab.used++;
    slab.previous[page % SLAB_PAGES] = previous;
    if (++this.#used > this.#mostUsed) this.#mostUsed = this.#used;
    return page;
  }

  /** The first slabs are preferred, so that the last ones become empty. */
  #slabWithRoom(): Slab {
    const found = this.#slabs[this.#at];
    if (found && found.free !== 0) return found;
    this.#at = this.#slabs.findIndex(({ free }) => free !== 0);
    if (this.#at < 0) this.#at = this.#slabs.push(new Slab(this.#slabs.length * SLAB_PAGES)) - 1;
    return this.#slabs[this.#at] as Slab;
  }

  /** Frees a page and all before it. */
  giveBack(last: number): void {
    for (let page = last; page !== 0;) {
      const slab = this.#slabOf(page);
      const place = page % SLAB_PAGES;
      const previous = slab.previous[place] as number;
      slab.previous[place] = slab.free;
      slab.free = page;
      slab.used--;
      this.#used--;
      page = previous;
    }
  }

  /** Frees slabs that were not needed since the last call. */
  trim(): void {
    const needed = Math.ceil((this.#mostUsed + 1) / SLAB_PAGES);
    while (this.#slabs.length > needed && this.#slabs.at(-1)?.used === 0) this.#slabs.pop();
    this.#mostUsed = this.#used;
  }

  /** Value of sample `number`, which is on `page`. */
  numberAt(page: number, number: number): number {
    const { numbers } = this.#slabOf(page);
    return numbers[placeOf(page, number % PAGE_SAMPLES)] as number;
  }

  /** Appends `count` samples, which end on the page `last`. */
  readInto(into: Samples, last: number, count: number): void {
    into.reserve(count);
    const pages: number[] = [];
    for (let page = last; page !== 0; page = this.#slabOf(page).previous[page % SLAB_PAGES] as number)
      pages.push(page);
    let left = count;
    for (const page of pages.reverse()) {
      const { numbers, times } = this.#slabOf(page);
      const inPage = Math.min(PAGE_SAMPLES, left);
      for (let within = 0; within < inPage; within++)
        into.push(times[timePlaceOf(page, within)] as number, numbers[placeOf(page, within)] as number);
      left -= inPage;
    }
  }

  #slabOf(page: number): Slab {
    return this.#slabs[page >>> SLAB_SHIFT] as Slab;
  }
}
