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

/** Cursors of the columns of a query; columns of one series read it once together. */
export function createColumnCursors(plan: QueryPlan, source: SampleSource): ColumnCursor[] {
  const readers = new Map<number, SeriesReader>();
  return plan.columns.map((column) => {
    const { seriesId } = column;
    if (seriesId === undefined) return EMPTY;
    let reader = readers.get(seriesId);
    if (!reader) readers.set(seriesId, (reader = new SeriesReader(plan, seriesId, source)));
    return cursorOf(plan, column, reader, source);
  });
}

function cursorOf(
  plan: QueryPlan,
  { seriesId = 0, aggregation, kind, gapMethod, lookAroundS }: PlannedColumn,
  reader: SeriesReader,
  source: SampleSource,
): ColumnCursor {
  const buckets = reader.column(aggregation);
  const next = (): number => buckets.next();
  const walk = {
    isReady: () => reader.isFinished || buckets.hasNext(),
    advance: () => reader.advance(),
    next,
  };
  if (gapMethod === 'none')
    return {
      ...walk,
      cell: (startS) => (next() === startS ? buckets.take() : undefined),
      drain: (take) => buckets.drain(take),
    };
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
      const value = buckets.take();
      before = { timestampS: startS, value };
      return value;
    }
    if (gapMethod === 'locf' || kind !== 'number') return before?.value;
    return before && interpolate(before, neighbourAfter(), startS);
  };
  return { ...walk, cell };
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

/** The buckets of one column that were read last, one after the other. */
class Buckets {
  readonly points: Points;
  readonly #granularityS: DurationS;
  readonly #aggregation: PlannedColumn['aggregation'];
  #aggregator: Aggregator;
  #position = 0;

  constructor(granularityS: DurationS, aggregation: PlannedColumn['aggregation'], capacity: number) {
    this.#granularityS = granularityS;
    this.#aggregation = aggregation;
    this.points = new Points(capacity);
    this.#aggregator = new Aggregator(granularityS, aggregation, this.points);
  }

  get aggregator(): Aggregator {
    return this.#aggregator;
  }

  /** Forgets the buckets that were read. */
  clear(): void {
    this.points.clear();
    this.#position = 0;
  }

  /** Forgets the bucket that is open, too. */
  restart(): void {
    this.#aggregator = new Aggregator(this.#granularityS, this.#aggregation, this.points);
  }

  hasNext(): boolean {
    return this.#position < this.points.count;
  }

  next(): number {
    return this.hasNext() ? (this.points.starts[this.#position] as number) : Number.POSITIVE_INFINITY;
  }

  /** Value of the next bucket; undefined at the end. */
  peek(): StoredValue | undefined {
    return this.hasNext() ? this.points.at(this.#position) : undefined;
  }

  take(): StoredValue {
    if (!this.hasNext()) throw new RangeError('no bucket left');
    return this.points.at(this.#position++);
  }

  drain(take: (points: Points, from: number) => number): void {
    this.#position = take(this.points, this.#position);
  }
}

/**
 * Reads a series piece by piece for all its columns. They have the same buckets, so all of them are through a piece at the
 * same row.
 */
class SeriesReader implements Visitor {
  isFinished = false;
  readonly #plan: QueryPlan;
  readonly #seriesId: number;
  readonly #source: SampleSource;
  readonly #columns: Buckets[] = [];
  /** Where buckets are of equal length. */
  readonly #sliceS: DurationS;
  #readToS: EpochS;
  #edge = 0;
  /** False after a piece in which nothing came. */
  #hasFound = true;

  constructor(plan: QueryPlan, seriesId: number, source: SampleSource) {
    this.#plan = plan;
    this.#seriesId = seriesId;
    this.#source = source;
    this.#readToS = plan.fromS;
    // Whole buckets, whole days where buckets are small, and never more buckets than may wait.
    const ahead = Math.max(BUCKETS_AHEAD_LEAST, Math.floor(BUCKETS_AHEAD / plan.columns.length));
    this.#sliceS = Math.max(plan.granularityS, Math.min(DAY_S, ahead * plan.granularityS));
  }

  /** Another column. */
  column(aggregation: PlannedColumn['aggregation']): Buckets {
    const { bucketEdgesS, granularityS, fromS, toS } = this.#plan;
    const lengthS = Math.max(1, Math.min(this.#sliceS, toS - fromS));
    const buckets = bucketEdgesS
      ? // All of it is one bucket.
        new Buckets(ALL_IN_ONE.granularityS, aggregation, 1)
      : new Buckets(granularityS, aggregation, Math.ceil(lengthS / granularityS) + 1);
    this.#columns.push(buckets);
    return buckets;
  }

  /** Reads the next piece. */
  advance(): void {
    for (const column of this.#columns) column.clear();
    this.isFinished = !(this.#plan.bucketEdgesS
      ? this.#readEdged(this.#plan.bucketEdgesS)
      : this.#readEven());
  }

  samples(samples: Samples, from: number, to: number): void {
    this.#hasFound = true;
    for (const { aggregator } of this.#columns) aggregator.samples(samples, from, to);
  }

  cells(cells: Rollup, from: number, to: number): void {
    this.#hasFound = true;
    for (const { aggregator } of this.#columns) aggregator.cells(cells, from, to);
  }

  /** One bucket with given edges. */
  #readEdged(edges: readonly EpochS[]): boolean {
    const startS = edges[this.#edge++];
    const endS = edges[this.#edge];
    if (startS === undefined || endS === undefined) return false;
    const { fromS, toS } = this.#plan;
    for (const column of this.#columns) column.restart();
    const { granularityS } = ALL_IN_ONE;
    this.#source.visit(this.#seriesId, Math.max(startS, fromS), Math.min(endS, toS), granularityS, this);
    for (const { aggregator, points } of this.#columns) {
      aggregator.finish();
      if (points.count > 0) points.starts[0] = startS;
    }
    return true;
  }

  /** Many buckets of equal length. */
  #readEven(): boolean {
    const { granularityS, toS } = this.#plan;
    // Data mostly goes on where it was; only after an empty piece is a search worth its cost.
    if (!this.#hasFound) this.#readToS = this.#source.nextData(this.#seriesId, this.#readToS, toS);
    this.#hasFound = false;
    if (this.#readToS >= toS) {
      for (const { aggregator } of this.#columns) aggregator.finish();
      return false;
    }
    const endS = Math.min(toS, this.#readToS - (this.#readToS % this.#sliceS) + this.#sliceS);
    this.#source.visit(this.#seriesId, this.#readToS, endS, granularityS, this);
    this.#readToS = endS;
    return true;
  }
}
