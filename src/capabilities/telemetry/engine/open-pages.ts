/**
 * Memory of samples that came last: pages of one size in a few large buffers, which all series share. With columns of their
 * own, thousands of series would be tens of thousands of small pieces of memory, which grow one after the other.
 */
import type { EpochS } from '../../../lib/time.ts';
import type { Samples } from '../codec/samples.ts';

/** G: half a page of each series is empty; a value and its time lie close together. */
const PAGE_SAMPLES = 32;
/** Of a page: its values, then their times. */
const PAGE_DOUBLES = PAGE_SAMPLES * 1.5;
const PAGE_WORDS = PAGE_SAMPLES * 3;
const FIRST_TIME = PAGE_SAMPLES * 2;
const SLAB_SHIFT = 10;
const SLAB_PAGES = 1 << SLAB_SHIFT;

/** Some pages in one piece. */
export class Slab {
  readonly numbers = new Float64Array(SLAB_PAGES * PAGE_DOUBLES);
  readonly times = new Uint32Array(this.numbers.buffer);
  /** Of each page, the one before it. */
  readonly previous = new Int32Array(SLAB_PAGES);
}

/** A page is known by its number; 0 is none. */
export class OpenPages {
  readonly #slabs: Slab[] = [];
  readonly #spare: Slab[];
  #nextPage = 1;
  /** The first of those that were given back. */
  #free = 0;

  /** @param spare slabs that are used before new ones are made */
  constructor(spare: Slab[]) {
    this.#spare = spare;
  }

  /** Appends the sample with this number to those that end on the page `last`; returns the page where it stands. */
  append(last: number, number: number, timestampS: EpochS, value: number): number {
    const within = number % PAGE_SAMPLES;
    const page = within === 0 ? this.#take(last) : last;
    const { numbers, times } = this.#slabOf(page);
    const place = page % SLAB_PAGES;
    numbers[place * PAGE_DOUBLES + within] = value;
    times[place * PAGE_WORDS + FIRST_TIME + within] = timestampS;
    return page;
  }

  #take(previous: number): number {
    let page = this.#free;
    if (page !== 0) this.#free = this.#previousOf(page);
    else {
      page = this.#nextPage++;
      if (page >>> SLAB_SHIFT === this.#slabs.length) this.#slabs.push(this.#spare.pop() ?? new Slab());
    }
    this.#link(page, previous);
    return page;
  }

  /** A page and all before it are free again. */
  giveBack(last: number): void {
    for (let page = last; page !== 0;) {
      const previous = this.#previousOf(page);
      this.#link(page, this.#free);
      this.#free = page;
      page = previous;
    }
  }

  /** Nothing of it is read any more: others may have its slabs. What was spare until now was too much. */
  retire(): void {
    this.#spare.splice(0, this.#spare.length, ...this.#slabs.splice(0));
  }

  /** Value of the sample with this number, which stands on `page`. */
  numberAt(page: number, number: number): number {
    const { numbers } = this.#slabOf(page);
    return numbers[(page % SLAB_PAGES) * PAGE_DOUBLES + (number % PAGE_SAMPLES)] as number;
  }

  /** Appends `count` samples, the last of which stand on the page `last`. */
  readInto(into: Samples, last: number, count: number): void {
    into.reserve(count);
    const pages: number[] = [];
    for (let page = last; page !== 0; page = this.#previousOf(page)) pages.push(page);
    let left = count;
    for (const page of pages.reverse()) {
      const { numbers, times } = this.#slabOf(page);
      const place = page % SLAB_PAGES;
      const inPage = Math.min(PAGE_SAMPLES, left);
      for (let within = 0; within < inPage; within++)
        into.push(
          times[place * PAGE_WORDS + FIRST_TIME + within] as number,
          numbers[place * PAGE_DOUBLES + within] as number,
        );
      left -= inPage;
    }
  }

  #slabOf(page: number): Slab {
    return this.#slabs[page >>> SLAB_SHIFT] as Slab;
  }

  #previousOf(page: number): number {
    return this.#slabOf(page).previous[page % SLAB_PAGES] as number;
  }

  #link(page: number, previous: number): void {
    this.#slabOf(page).previous[page % SLAB_PAGES] = previous;
  }
}
