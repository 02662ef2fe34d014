/** One column of a query: goes through its buckets in order of time, filling gaps as asked. */
import type { DurationS, EpochS } from '../../../lib/time.ts';
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

/** Where queries read from while samples go on to arrive. */
export interface LiveSource extends SampleSource {
  /**
   * The series as they are now: however long the answer takes, all its columns know the same messages. Only
   * samples of past days that arrive meanwhile may appear, when their day is compacted before it is read.
   */
  asOfNow(seriesIds: readonly number[]): SampleSource;
}

export interface Visitor {
  samples(samples: Samples, from: number, to: number): void;
  /** Cells of `slotS` seconds each. */
  cells(cells: Rollup, from: number, to: number, slotS: DurationS): void;
}

const DAY_S = 86_400;
/** Buckets worked out ahead by all columns of a query together; bounds its memory. */
const BUCKETS_AHEAD = 200_000;
/** But by each column at least. */
const BUCKETS_AHEAD_LEAST = 512;

export interface ColumnCursor {
  /** False while `advance` must be called before the cursor says anything. */
  isReady: () => boolean;
  /** Reads one piece further; a few milliseconds of work at most. */
  advance: () => void;
  /** Start of the next bucket with a value of its own; infinite at the end. */
  next: () => number;
  /** The value of a bucket, filled or not; buckets must be asked for in ascending order. */
  cell: (startS: EpochS) => StoredValue | undefined;
  /**
   * Hands over the buckets that are ready, from a position on; `take` returns where it stopped. Absent where they do not
   * stand one behind the other.
   */
  drain?: (take: (points: Points, from: number) => number) => void;
}

export function createColumnCursor(
  plan: QueryPlan,
  column: PlannedColumn,
  source: SampleSource,
): ColumnCursor {
  const { seriesId } = column;
  if (seriesId === undefined) return NOTHING;
  const buckets = (plan.bucketEdgesS ? createEdgedBuckets : createBuckets)(plan, column, seriesId, source);
  if (column.gapMethod === 'none')
    return {
      ...buckets,
      cell: (startS) => (buckets.next() === startS ? buckets.take() : undefined),
    };
  let before: StoredSample | undefined;
  let isBeforeKnown = false;

  function cell(startS: EpochS): StoredValue | undefined {
    if (!isBeforeKnown && seriesId !== undefined) {
      isBeforeKnown = true;
      before = source.last(seriesId, Math.max(0, plan.fromS - column.lookAroundS), plan.fromS);
    }
    if (buckets.next() === startS) {
      const value = buckets.take();
      before = { timestampS: startS, value };
      return value;
    }
    if (column.gapMethod === 'locf' || column.kind !== 'number') return before?.value;
    return before && interpolate(before, neighbourAfter(), startS);
  }

  function neighbourAfter(): StoredSample | undefined {
    const value = buckets.peek();
    if (value !== undefined) return { timestampS: buckets.next(), value };
    after ??= {
      found:
        seriesId === undefined ? undefined : source.first(seriesId, plan.toS, plan.toS + column.lookAroundS),
    };
    return after.found;
  }
  let after: { found: StoredSample | undefined } | undefined;

  const { isReady, advance, next } = buckets;
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

const NOTHING: ColumnCursor = {
  isReady: () => true,
  advance: () => undefined,
  next: () => Number.POSITIVE_INFINITY,
  cell: () => undefined,
};

interface Buckets {
  isReady: () => boolean;
  advance: () => void;
  next: () => number;
  /** Value of the next bucket; undefined at the end. */
  peek: () => StoredValue | undefined;
  take: () => StoredValue;
  drain?: ColumnCursor['drain'];
}

/** One bucket after the other, each with its own beginning and end. */
function createEdgedBuckets(
  plan: QueryPlan,
  column: PlannedColumn,
  seriesId: number,
  source: SampleSource,
): Buckets {
  const edges = plan.bucketEdgesS ?? [];
  let edge = 0;
  let found: { startS: EpochS; value: StoredValue } | undefined;

  return {
    isReady: () => found !== undefined || edge + 1 >= edges.length,
    advance: () => {
      const startS = edges[edge++] ?? plan.toS;
      const fromS = Math.max(startS, plan.fromS);
      const toS = Math.min(edges[edge] ?? plan.toS, plan.toS);
      const points = new Points(1);
      // All of it is one bucket.
      const aggregator = new Aggregator(ALL_IN_ONE.granularityS, column.aggregation, points);
      source.visit(seriesId, fromS, toS, ALL_IN_ONE.granularityS, {
        samples: (samples, from, to) => aggregator.addSamples(samples, from, to),
        cells: (cells, from, to) => aggregator.addCells(cells, from, to),
      });
      aggregator.finish();
      if (points.count > 0) found = { startS, value: points.at(0) };
    },
    next: () => found?.startS ?? Number.POSITIVE_INFINITY,
    peek: () => found?.value,
    take: () => {
      if (found === undefined) throw new RangeError('no bucket left');
      const { value } = found;
      found = undefined;
      return value;
    },
  };
}

function createBuckets(
  plan: QueryPlan,
  column: PlannedColumn,
  seriesId: number,
  source: SampleSource,
): Buckets {
  const { granularityS, toS } = plan;
  // Whole buckets, whole days where buckets are small, and never more buckets than may wait.
  const ahead = Math.max(BUCKETS_AHEAD_LEAST, Math.floor(BUCKETS_AHEAD / plan.columns.length));
  const sliceS = Math.max(granularityS, Math.min(DAY_S, ahead * granularityS));
  const points = new Points(Math.ceil(Math.max(1, Math.min(sliceS, toS - plan.fromS)) / granularityS) + 1);
  const aggregator = new Aggregator(granularityS, column.aggregation, points);
  const visitor: Visitor = {
    samples: (samples, from, to) => {
      isEmpty = false;
      aggregator.addSamples(samples, from, to);
    },
    cells: (cells, from, to) => {
      isEmpty = false;
      aggregator.addCells(cells, from, to);
    },
  };
  let position = 0;
  let readToS = plan.fromS;
  let isFinished = false;
  let isEmpty = false;

  function advance(): void {
    points.clear();
    position = 0;
    // Data mostly goes on where it was; only after a stretch of nothing is it worth a search.
    if (isEmpty) readToS = source.nextData(seriesId, readToS, toS);
    isEmpty = true;
    if (readToS >= toS) {
      isFinished = true;
      aggregator.finish();
      return;
    }
    const sliceEndS = Math.min(toS, readToS - (readToS % sliceS) + sliceS);
    source.visit(seriesId, readToS, sliceEndS, granularityS, visitor);
    readToS = sliceEndS;
  }

  return {
    isReady: () => isFinished || position < points.count,
    advance,
    next: () => (position < points.count ? (points.starts[position] as number) : Number.POSITIVE_INFINITY),
    peek: () => (position < points.count ? points.at(position) : undefined),
    take: () => {
      if (position >= points.count) throw new RangeError('no bucket left');
      return points.at(position++);
    },
    drain: (take) => {
      position = take(points, position);
    },
  };
}
