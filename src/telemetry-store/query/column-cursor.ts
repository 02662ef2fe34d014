/** One column of a query: its buckets in order of time, with gaps filled as the query says. */
import { DAY_S, type DurationS, type EpochS } from '../../lib/time.ts';
import { Aggregator, Points } from './aggregate.ts';
import { ALL_IN_ONE, type PlannedColumn, type QueryPlan } from './query-plan.ts';
import type { Samples } from '../codec/samples.ts';
import type { Rollup } from '../codec/rollup.ts';
import type { StoredSample, StoredValue } from '../codec/series.ts';

/** Where a query reads from. */
export interface SampleSource {
  /** The last sample of [fromS, toS). */
  last(seriesId: number, fromS: EpochS, toS: EpochS): StoredSample | undefined;
  /** The first sample of [fromS, toS). */
  first(seriesId: number, fromS: EpochS, toS: EpochS): StoredSample | undefined;
  /**
   * Calls `visit` with everything of the series in [fromS, toS), in order of time: cells of roll-ups that
   * lie within one bucket where they say exactly the same, samples elsewhere.
   */
  visit(seriesId: number, fromS: EpochS, toS: EpochS, granularityS: DurationS, visit: Visitor): void;
  /** End of the stretch after `fromS` that is surely without data, `toS` at most. */
  nextData(seriesId: number, fromS: EpochS, toS: EpochS): number;
}

/** A source to which samples are still added. */
export interface LiveSource extends SampleSource {
  /**
   * The series as they are now: all columns of an answer have the same messages, however long it takes. Only samples of
   * past days that arrive meanwhile may appear, if their day is compacted before it is read.
   */
  asOfNow(seriesIds: readonly number[]): SampleSource;
}

export interface Visitor {
  samples(samples: Samples, from: number, to: number): void;
  /** Cells of `slotS` seconds each. */
  cells(cells: Rollup, from: number, to: number, slotS: DurationS): void;
}

/** Buckets that all columns of a query together read ahead; bounds the memory. */
const BUCKETS_AHEAD = 200_000;
/** The least that each column reads ahead. */
const BUCKETS_AHEAD_LEAST = 512;

export interface ColumnCursor {
  /** False while `advance` must be called first. */
  isReady: () => boolean;
  /** Reads one piece further; a few milliseconds of work at most. */
  advance: () => void;
  /** Start of the next bucket with a value of its own; infinite at the end. */
  next: () => number;
  /** The value of a bucket, filled or not; buckets must be asked for in ascending order. */
  cell: (startS: EpochS) => StoredValue | undefined;
  /**
   * Hands over the buckets that are ready, from a position on; `take` returns where it stopped. Absent where gaps are
   * filled.
   */
  drain?: (take: (points: Points, from: number) => number) => void;
}

export function createColumnCursor(
  plan: QueryPlan,
  column: PlannedColumn,
  source: SampleSource,
): ColumnCursor {
  const { seriesId, gapMethod, lookAroundS } = column;
  if (seriesId === undefined) return EMPTY;
  const reader = (plan.bucketEdgesS ? edgedReader : evenReader)(plan, column, seriesId, source);
  const { take, ...buckets } = createBuckets(reader);
  const { isReady, advance, next } = buckets;
  if (gapMethod === 'none') return { ...buckets, cell: (startS) => (next() === startS ? take() : undefined) };
  let before: StoredSample | undefined;
  let isBeforeKnown = false;
  let after: { found: StoredSample | undefined } | undefined;

  const neighbourAfter = (): StoredSample | undefined => {
    const value = buckets.peek();
    if (value !== undefined) return { timestampS: next(), value };
    after ??= { found: source.first(seriesId, plan.toS, plan.toS + lookAroundS) };
    return after.found;
  };
  const cell = (startS: EpochS): StoredValue | undefined => {
    if (!isBeforeKnown) before = source.last(seriesId, Math.max(0, plan.fromS - lookAroundS), plan.fromS);
    isBeforeKnown = true;
    if (next() === startS) {
      const value = take();
      before = { timestampS: startS, value };
      return value;
    }
    if (gapMethod === 'locf' || column.kind !== 'number') return before?.value;
    return before && interpolate(before, neighbourAfter(), startS);
  };
  return { isReady, advance, next, cell };
}

/** Linear between two neighbours; undefined without the second one. */
function interpolate(
  before: StoredSample,
  after: StoredSample | undefined,
  atS: EpochS,
): StoredValue | undefined {
  if (!after) return undefined;
  const from = Number(before.value);
  if (before.timestampS >= atS) return from;
  const share = (atS - before.timestampS) / (after.timestampS - before.timestampS);
  return from + (Number(after.value) - from) * share;
}

const EMPTY: ColumnCursor = {
  isReady: () => true,
  advance: () => undefined,
  next: () => Number.POSITIVE_INFINITY,
  cell: () => undefined,
};

interface BucketReader {
  /** The buckets that were read last. */
  readonly points: Points;
  /** Reads the next piece into `points`; false: nothing follows. */
  read: () => boolean;
}

/** The buckets that have a value, one after the other. */
function createBuckets({ points, read }: BucketReader) {
  let position = 0;
  let isFinished = false;
  return {
    isReady: () => isFinished || position < points.count,
    advance: () => {
      points.clear();
      position = 0;
      isFinished = !read();
    },
    next: () => (position < points.count ? (points.starts[position] as number) : Number.POSITIVE_INFINITY),
    /** Value of the next bucket; undefined at the end. */
    peek: () => (position < points.count ? points.at(position) : undefined),
    take: () => {
      if (position >= points.count) throw new RangeError('no bucket left');
      return points.at(position++);
    },
    drain: (take: (points: Points, from: number) => number) => {
      position = take(points, position);
    },
  };
}

/** Reads buckets with given edges, one at a time. */
function edgedReader(
  plan: QueryPlan,
  column: PlannedColumn,
  seriesId: number,
  source: SampleSource,
): BucketReader {
  const edges = plan.bucketEdgesS ?? [];
  const points = new Points(1);
  // All of it is one bucket.
  const { granularityS } = ALL_IN_ONE;
  let edge = 0;
  const read = (): boolean => {
    const startS = edges[edge++];
    const endS = edges[edge];
    if (startS === undefined || endS === undefined) return false;
    const aggregator = new Aggregator(granularityS, column.aggregation, points);
    const fromS = Math.max(startS, plan.fromS);
    source.visit(seriesId, fromS, Math.min(endS, plan.toS), granularityS, aggregator);
    aggregator.finish();
    if (points.count > 0) points.starts[0] = startS;
    return true;
  };
  return { points, read };
}

/** Reads buckets of equal length, many at a time. */
function evenReader(
  plan: QueryPlan,
  column: PlannedColumn,
  seriesId: number,
  source: SampleSource,
): BucketReader {
  const { granularityS, toS } = plan;
  // Whole buckets, whole days where buckets are small, and never more buckets than may wait.
  const ahead = Math.max(BUCKETS_AHEAD_LEAST, Math.floor(BUCKETS_AHEAD / plan.columns.length));
  const sliceS = Math.max(granularityS, Math.min(DAY_S, ahead * granularityS));
  const points = new Points(Math.ceil(Math.max(1, Math.min(sliceS, toS - plan.fromS)) / granularityS) + 1);
  const aggregator = new Aggregator(granularityS, column.aggregation, points);
  let readToS = plan.fromS;
  const read = (): boolean => {
    // Data mostly goes on where it was; only after an empty piece is a search worth its cost.
    if (aggregator.isUntouched) readToS = source.nextData(seriesId, readToS, toS);
    aggregator.isUntouched = true;
    if (readToS >= toS) {
      aggregator.finish();
      return false;
    }
    const sliceEndS = Math.min(toS, readToS - (readToS % sliceS) + sliceS);
    source.visit(seriesId, readToS, sliceEndS, granularityS, aggregator);
    readToS = sliceEndS;
    return true;
  };
  return { points, read };
}
