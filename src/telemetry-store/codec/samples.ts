/**
 * Samples of one series in memory, as columns. Grows by appending in order of arrival; `normalize` brings
 * them into order of time, where of several samples of one instant the one that arrived last remains.
 */
import type { EpochS } from '../../lib/time.ts';
import type { SeriesKind, StoredValue } from './series.ts';
import { TextCodes } from './text-codes.ts';

export class Samples {
  kind: SeriesKind;
  count = 0;
  /** Unix seconds. */
  times: Uint32Array;
  /** The value; for booleans 0 or 1, for texts an index into `texts`. */
  numbers: Float64Array;
  /** Exact values once a series has an integer beyond 2^53; then valid for every sample. */
  integers: BigInt64Array | undefined;
  /** The texts of a series whose samples these are may be shared with it; `reset` leaves them alone. */
  textCodes = new TextCodes();
  /** Strictly ascending so far. */
  isOrdered = true;

  constructor(kind: SeriesKind, capacity = 16) {
    this.kind = kind;
    this.times = new Uint32Array(capacity);
    this.numbers = new Float64Array(capacity);
  }

  get texts(): readonly string[] {
    return this.textCodes.texts;
  }

  get firstS(): EpochS {
    return this.times[0] as number;
  }

  get lastS(): EpochS {
    return this.times[this.count - 1] as number;
  }

  /** Empties, keeping the memory. */
  reset(kind: SeriesKind): void {
    this.kind = kind;
    this.count = 0;
    this.isOrdered = true;
    this.integers = undefined;
    this.textCodes = new TextCodes();
  }

  reserve(count: number): void {
    if (this.count + count <= this.times.length) return;
    const capacity = Math.max(this.count + count, this.times.length * 2);
    const { times, numbers, integers } = this;
    this.times = new Uint32Array(capacity);
    this.times.set(times.subarray(0, this.count));
    this.numbers = new Float64Array(capacity);
    this.numbers.set(numbers.subarray(0, this.count));
    if (!integers) return;
    this.integers = new BigInt64Array(capacity);
    this.integers.set(integers.subarray(0, this.count));
  }

  /** Appends a number, a boolean as 0 or 1, or the code of a text. */
  push(timestampS: EpochS, value: number): void {
    if (this.count === this.times.length) this.reserve(1);
    const index = this.count++;
    if (index > 0 && timestampS <= (this.times[index - 1] as number)) this.isOrdered = false;
    this.times[index] = timestampS;
    this.numbers[index] = value;
    if (this.integers) this.integers[index] = BigInt(value);
  }

  /** Appends an integer beyond 2^53, or a text. */
  pushOther(timestampS: EpochS, value: bigint | string): void {
    if (typeof value === 'string') return this.push(timestampS, this.textCodes.codeOf(value));
    this.push(timestampS, Number(value));
    this.widen()[this.count - 1] = value;
  }

  /** Keeps every value as an exact integer, too, from now on. */
  widen(): BigInt64Array {
    if (this.integers) return this.integers;
    const integers = new BigInt64Array(this.times.length);
    for (let index = 0; index < this.count; index++) {
      const value = this.numbers[index] as number;
      // A value about to be replaced by its exact form may be rounded; everything before it is whole.
      integers[index] = BigInt.asIntN(64, BigInt(Math.trunc(value)));
    }
    this.integers = integers;
    return integers;
  }

  valueAt(index: number): StoredValue {
    const value = this.numbers[index] as number;
    if (this.kind === 'boolean') return value === 1;
    if (this.kind === 'text') return this.texts[value] as string;
    return this.integers && !Number.isSafeInteger(value) ? (this.integers[index] as bigint) : value;
  }

  /** Appends those samples of `other` that lie in [fromS, toS). */
  append(other: Samples, fromS: EpochS = 0, toS: EpochS = Number.POSITIVE_INFINITY): void {
    let from = 0;
    let to = other.count;
    if (other.isOrdered) {
      from = other.indexFrom(fromS);
      to = other.indexFrom(toS);
    }
    if (to <= from) return;
    this.reserve(to - from);
    if (other.integers) this.widen();
    if (other.isOrdered && this.kind !== 'text') this.#appendRange(other, from, to);
    else
      for (let index = from; index < to; index++) {
        const timestampS = other.times[index] as number;
        if (timestampS < fromS || timestampS >= toS) continue;
        if (this.kind === 'text')
          this.pushOther(timestampS, other.texts[other.numbers[index] as number] as string);
        else {
          this.push(timestampS, other.numbers[index] as number);
          if (this.integers && other.integers)
            this.integers[this.count - 1] = other.integers[index] as bigint;
        }
      }
  }

  #appendRange(other: Samples, from: number, to: number): void {
    if (this.count > 0 && (other.times[from] as number) <= this.lastS) this.isOrdered = false;
    this.times.set(other.times.subarray(from, to), this.count);
    this.numbers.set(other.numbers.subarray(from, to), this.count);
    if (this.integers) {
      if (other.integers) this.integers.set(other.integers.subarray(from, to), this.count);
      else
        for (let index = from; index < to; index++)
          this.integers[this.count + index - from] = BigInt(Math.trunc(other.numbers[index] as number));
    }
    this.count += to - from;
  }

  /** Index of the first sample at or after `timestampS`; the samples must be ordered. */
  indexFrom(timestampS: EpochS): number {
    let low = 0;
    let high = this.count;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.times[middle] as number) < timestampS) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Orders by time; of samples of one instant the last to arrive remains. */
  normalize(): void {
    if (this.isOrdered) return;
    const { count, times, numbers, integers } = this;
    // Time and position in one exact number each: sorting them is stable and native.
    const keys = new Float64Array(count);
    for (let index = 0; index < count; index++) keys[index] = (times[index] as number) * 0x200000 + index;
    if (count > 0x200000) throw new RangeError('too many samples to order at once');
    keys.sort();
    const from = numbers.slice(0, count);
    const exact = integers?.slice(0, count);
    let kept = 0;
    for (let place = 0; place < count; place++) {
      const key = keys[place] as number;
      const timestampS = Math.floor(key / 0x200000);
      const index = key % 0x200000;
      if (kept === 0 || times[kept - 1] !== timestampS || place === 0) kept++;
      times[kept - 1] = timestampS;
      numbers[kept - 1] = from[index] as number;
      if (integers && exact) integers[kept - 1] = exact[index] as bigint;
    }
    this.count = kept;
    this.isOrdered = true;
  }
}
