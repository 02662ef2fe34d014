/** Buckets: many samples become one value each. */
import { meanOf } from '../../lib/mean.ts';
import type { DurationS, EpochS } from '../../lib/time.ts';
import { lastOf, type Rollup } from '../codec/rollup.ts';
import type { Samples } from '../codec/samples.ts';
import type { StoredValue } from '../codec/series.ts';
import type { PlannedColumn } from './query-plan.ts';

/** Buckets that have a value, in order of time; the memory is reused. */
export class Points {
  count = 0;
  /** Start of the bucket, Unix seconds. */
  starts: Uint32Array;
  /** The values, while all of them are numbers. */
  #numbers: Float64Array;
  /** The values, once one of them is something else. */
  #values: StoredValue[] | undefined;

  /** @param capacity buckets expected; it grows when there are more */
  constructor(capacity: number) {
    this.starts = new Uint32Array(capacity);
    this.#numbers = new Float64Array(capacity);
  }

  /** Empties. */
  clear(): void {
    this.count = 0;
    this.#values = undefined;
  }

  push(startS: EpochS, value: StoredValue): void {
    this.#reserve(1);
    this.starts[this.count] = startS;
    if (typeof value === 'number' && !this.#values) this.#numbers[this.count] = value;
    else (this.#values ??= [...this.#numbers.subarray(0, this.count)]).push(value);
    this.count++;
  }

  /** Adds a bucket for each sample. */
  pushNumbers({ times, numbers }: Samples, from: number, to: number): void {
    this.#reserve(to - from);
    this.starts.set(times.subarray(from, to), this.count);
    this.#numbers.set(numbers.subarray(from, to), this.count);
    this.#values?.push(...numbers.subarray(from, to));
    this.count += to - from;
  }

  /** The values, when all of them are numbers. */
  get numbers(): Float64Array | undefined {
    return this.#values ? undefined : this.#numbers;
  }

  at(position: number): StoredValue {
    return this.#values ? (this.#values[position] as StoredValue) : (this.#numbers[position] as number);
  }

  #reserve(count: number): void {
    const needed = this.count + count;
    if (needed <= this.starts.length) return;
    const capacity = Math.max(needed, this.starts.length * 2);
    const { starts } = this;
    this.starts = new Uint32Array(capacity);
    this.starts.set(starts);
    const numbers = this.#numbers;
    this.#numbers = new Float64Array(capacity);
    this.#numbers.set(numbers);
  }
}

/** Collects samples in order of time and emits a point whenever a bucket is complete. */
export class Aggregator {
  readonly #granularityS: DurationS;
  readonly #aggregation: PlannedColumn['aggregation'];
  readonly #points: Points;
  #startS: EpochS = -1;
  #endS: EpochS = -1;
  #count = 0;
  #sum = 0;
  #least = 0;
  #greatest = 0;
  #extreme: number | bigint = 0;
  #last: StoredValue = 0;
  #isAnyTrue = false;

  constructor(granularityS: DurationS, aggregation: PlannedColumn['aggregation'], points: Points) {
    this.#granularityS = granularityS;
    this.#aggregation = aggregation;
    this.#points = points;
  }

  /** Samples must be ordered, and not before those given earlier. */
  samples(samples: Samples, from: number, to: number): void {
    if (this.#granularityS === 1 && this.#count === 0) {
      this.#addEach(samples, from, to);
      return;
    }
    for (let index = from; index < to;) {
      this.#enter(samples.times[index] as number);
      const end = this.#endOfBucket(samples.times, index, to);
      if (samples.integers) this.#addExact(samples, index, end);
      else this.#addNumbers(samples, index, end);
      this.#count += end - index;
      index = end;
    }
  }

  /** Each within one bucket, and like samples in order of time. */
  cells(cells: Rollup, from: number, to: number): void {
    for (let cell = from; cell < to; cell++) {
      this.#enter(cells.starts[cell] as number);
      this.#addCell(cells, cell);
      this.#count += cells.counts[cell] as number;
    }
  }

  /** Completes the open bucket. */
  finish(): void {
    if (this.#count === 0) return;
    this.#points.push(this.#startS, this.#value());
    this.#count = 0;
  }

  #value(): StoredValue {
    if (this.#aggregation === 'avg') return meanOf(this.#sum, this.#count, this.#least, this.#greatest);
    if (this.#aggregation === 'bool_or') return this.#isAnyTrue;
    return this.#aggregation === 'last' ? this.#last : this.#extreme;
  }

  /** Enters the bucket of an instant; a new one begins empty. */
  #enter(timestampS: EpochS): void {
    if (timestampS < this.#endS && timestampS >= this.#startS) return;
    this.finish();
    this.#startS = timestampS - (timestampS % this.#granularityS);
    this.#endS = this.#startS + this.#granularityS;
    this.#sum = 0;
    this.#least = Infinity;
    this.#greatest = -Infinity;
    this.#isAnyTrue = false;
  }

  #endOfBucket(times: Uint32Array, from: number, to: number): number {
    const endS = this.#endS;
    let index = from + 1;
    while (index < to && (times[index] as number) < endS) index++;
    return index;
  }

  /** Adds samples of the open bucket. */
  #addNumbers(samples: Samples, from: number, to: number): void {
    const { numbers } = samples;
    switch (this.#aggregation) {
      case 'avg':
        this.#addToMean(numbers, from, to);
        break;
      case 'last':
        this.#last = samples.valueAt(to - 1);
        break;
      case 'bool_or':
        for (let index = from; index < to; index++) this.#isAnyTrue ||= numbers[index] === 1;
        break;
      default:
        for (let index = from; index < to; index++)
          this.#takeExtreme(numbers[index] as number, this.#count === 0 && index === from);
    }
  }

  #addToMean(numbers: Float64Array, from: number, to: number): void {
    let sum = this.#sum;
    let least = this.#least;
    let greatest = this.#greatest;
    for (let index = from; index < to; index++) {
      const value = numbers[index] as number;
      sum += value;
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
    this.#sum = sum;
    this.#least = least;
    this.#greatest = greatest;
  }

  /** Buckets of a second have one sample each. */
  #addEach(samples: Samples, from: number, to: number): void {
    const isNumber = samples.kind === 'number' && !samples.integers;
    if (isNumber || this.#aggregation === 'avg') this.#points.pushNumbers(samples, from, to);
    else
      for (let index = from; index < to; index++)
        this.#points.push(samples.times[index] as number, samples.valueAt(index));
  }

  #addExact(samples: Samples, from: number, to: number): void {
    for (let index = from; index < to; index++) {
      const value = samples.valueAt(index) as number | bigint;
      this.#takeExtreme(value, this.#count === 0 && index === from);
      const number = Number(value);
      this.#sum += number;
      this.#least = Math.min(this.#least, number);
      this.#greatest = Math.max(this.#greatest, number);
      this.#last = value;
    }
  }

  #addCell(cells: Rollup, cell: number): void {
    switch (this.#aggregation) {
      case 'avg':
        this.#sum += cells.sums[cell] as number;
        this.#least = Math.min(this.#least, cells.minima[cell] as number);
        this.#greatest = Math.max(this.#greatest, cells.maxima[cell] as number);
        break;
      case 'last':
        this.#last = lastOf(cells, cell);
        break;
      case 'bool_or':
        this.#isAnyTrue ||= cells.maxima[cell] === 1;
        break;
      default: {
        const column = this.#aggregation === 'min' ? 'minima' : 'maxima';
        const extreme = (cells.exact ?? cells)[column][cell] as number | bigint;
        this.#takeExtreme(extreme, this.#count === 0);
      }
    }
  }

  #takeExtreme(value: number | bigint, isFirst: boolean): void {
    const isMore = this.#aggregation === 'min' ? value < this.#extreme : value > this.#extreme;
    if (isFirst || isMore) this.#extreme = value;
  }
}
