/** Buckets: many samples become one value each. */
import type { StoredValue } from './model.ts';
import type { PlannedColumn } from './query-plan.ts';
import type { Samples } from './samples.ts';

/** Values of consecutive buckets that have one. */
export interface Points {
  /** Start of the bucket, Unix seconds. */
  starts: number[];
  values: StoredValue[];
}

/** Several samples of one series as one: a cell of a roll-up. */
export interface Summary {
  count: number;
  sum: number;
  min: number;
  max: number;
  last: StoredValue;
  /** Exact, where the series has integers beyond 2^53. */
  minExact?: bigint;
  maxExact?: bigint;
}

/** Collects samples in order of time and emits a point whenever a bucket is complete. */
export interface Aggregator {
  /** Samples must be ordered, and not before those given earlier. */
  addSamples: (samples: Samples, from: number, to: number) => void;
  addSummary: (timestampS: number, summary: Summary) => void;
  /** Completes the bucket in work. */
  finish: () => void;
}

export function createAggregator(
  granularityS: number,
  aggregation: PlannedColumn['aggregation'],
  points: Points,
): Aggregator {
  let start = -1;
  let end = -1;
  let count = 0;
  let sum = 0;
  let extreme: number | bigint = 0;
  let last: StoredValue = 0;
  let isAnyTrue = false;

  function finish(): void {
    if (count === 0) return;
    points.starts.push(start);
    points.values.push(valueOf());
    count = 0;
  }

  function valueOf(): StoredValue {
    if (aggregation === 'avg') return sum / count;
    if (aggregation === 'bool_or') return isAnyTrue;
    return aggregation === 'last' ? last : extreme;
  }

  /** Enters the bucket of an instant; the accumulator is empty then if it is a new one. */
  function enter(timestampS: number): void {
    if (timestampS < end && timestampS >= start) return;
    finish();
    start = timestampS - (timestampS % granularityS);
    end = start + granularityS;
    sum = 0;
    isAnyTrue = false;
  }

  function isMoreExtreme(value: number | bigint): boolean {
    return aggregation === 'min' ? value < extreme : value > extreme;
  }

  function addNumbers(samples: Samples, from: number, to: number): void {
    const { times, numbers } = samples;
    let index = from;
    while (index < to) {
      enter(times[index] as number);
      const first = index;
      if (aggregation === 'avg') {
        let total = sum;
        for (; index < to && (times[index] as number) < end; index++) total += numbers[index] as number;
        sum = total;
      } else if (aggregation === 'last') {
        while (index < to && (times[index] as number) < end) index++;
        last = samples.valueAt(index - 1);
      } else if (aggregation === 'bool_or')
        for (; index < to && (times[index] as number) < end; index++) isAnyTrue ||= numbers[index] === 1;
      else
        for (; index < to && (times[index] as number) < end; index++) {
          const value = numbers[index] as number;
          if ((count === 0 && index === first) || isMoreExtreme(value)) extreme = value;
        }
      count += index - first;
    }
  }

  function addExact(samples: Samples, from: number, to: number): void {
    for (let index = from; index < to; index++) {
      enter(samples.times[index] as number);
      const value = samples.valueAt(index) as number | bigint;
      if (count === 0 || isMoreExtreme(value)) extreme = value;
      sum += Number(value);
      last = value;
      count++;
    }
  }

  return {
    addSamples: (samples, from, to) =>
      samples.integers ? addExact(samples, from, to) : addNumbers(samples, from, to),
    addSummary: (timestampS, summary) => {
      enter(timestampS);
      const value =
        aggregation === 'min' ? (summary.minExact ?? summary.min) : (summary.maxExact ?? summary.max);
      if (count === 0 || isMoreExtreme(value)) extreme = value;
      sum += summary.sum;
      isAnyTrue ||= summary.max === 1;
      last = summary.last;
      count += summary.count;
    },
    finish,
  };
}
