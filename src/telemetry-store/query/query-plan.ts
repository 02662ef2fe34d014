/** A query as the store gets it: ids instead of names, everything resolved. Crosses threads. */
import type { DurationS, EpochS } from '../../lib/time.ts';
import type { SeriesKind } from '../codec/series.ts';
import type { TelemetryType } from '../../protocol/telemetry.ts';

/** How samples of one bucket become one value; `auto` follows the type (docs/interface/http.md). */
export const AGGREGATIONS = ['auto', 'avg', 'last', 'min', 'max', 'bool_or'] as const;
/** One of AGGREGATIONS. */
export type Aggregation = (typeof AGGREGATIONS)[number];

/** How a bucket without samples is filled. */
export const GAP_METHODS = ['none', 'locf', 'interpolation'] as const;
/** One of GAP_METHODS. */
export type GapMethod = (typeof GAP_METHODS)[number];

/** How cells of text are written: for readers of lines, or so that they can be read back exactly. */
export const TEXT_FORMATS = ['plain', 'json'] as const;

/** Longer than any time: all samples of the range fall into one bucket. */
export const ALL_IN_ONE = { granularityS: 900 * 2 ** 31 } as const;

/** Whose days buckets of whole days are. */
export const ZONES = ['utc', 'site'] as const;

/** Types of the columns of an answer, as its header names them. */
export type ColumnType = 'float' | 'integer' | 'string' | 'boolean' | 'string_array';

/** One column of a query, with everything resolved: series, aggregation, gaps and format. */
export interface PlannedColumn {
  /** Undefined while the attribute has no sample. */
  seriesId: number | undefined;
  kind: SeriesKind;
  aggregation: Exclude<Aggregation, 'auto'>;
  gapMethod: GapMethod;
  lookAroundS: DurationS;
  /** How the cells are written. */
  type: ColumnType;
  /** Text is written as JSON: every character as it is, and empty text unlike no value. */
  isExactText?: boolean;
  /** The stored text is JSON: it may have escapes, unlike text. */
  isJson?: boolean;
}

/** A query of samples in buckets, resolved to series; times in seconds, the end excluded. */
export interface QueryPlan {
  /** Samples of [fromS, toS). */
  fromS: EpochS;
  toS: EpochS;
  granularityS: DurationS;
  /** For buckets of unequal length: the start of each, in order, and the end of the last. */
  bucketEdgesS?: readonly EpochS[];
  columns: readonly PlannedColumn[];
}

/** Samples of one series as they are. Crosses threads. */
export interface SamplesPlan {
  seriesId: number;
  /** Samples of [fromS, toS), at most `samplesMax` of them and about `bytesMax` of their text. */
  fromS: EpochS;
  toS: EpochS;
  samplesMax: number;
  bytesMax: number;
}

/** One number over the samples of [fromS, toS). Crosses threads. */
export interface NumberPlan {
  number: PlannedColumn;
  fromS: EpochS;
  toS: EpochS;
}

/** Amounts in each minute of series of numbers. Crosses threads. */
export interface AmountsPlan {
  /** Whole minutes of [fromS, toS). */
  fromS: EpochS;
  toS: EpochS;
  /** Longer gaps between two samples are not bridged: `gapS` for a rate, `bridgeS` for a counter. */
  gapS: DurationS;
  bridgeS: DurationS;
  amounts: readonly AmountColumn[];
}

/** One amount over time that energy books ask for: of a power or of a counter. */
export interface AmountColumn {
  /** Undefined while the attribute has no sample. */
  seriesId: number | undefined;
  /** `integral`: of a rate over time, in its unit times seconds. `increase`: of a counter, in its unit. */
  kind: 'integral' | 'increase';
  /** Per second, in the unit of the amount: a counter that rises faster was set, a greater rate is no value. */
  rateMax: number;
}

/** `auto` resolved: avg for numbers, last for everything else (docs/interface/http.md#time-series). */
export function resolveAggregation(
  aggregation: Aggregation,
  type: TelemetryType,
): Exclude<Aggregation, 'auto'> {
  if (aggregation !== 'auto') return aggregation;
  return type === 'float' || type === 'integer' ? 'avg' : 'last';
}

/** Aggregations that have a meaning for values of a type. */
export function allowedAggregations(type: TelemetryType): Aggregation[] {
  if (type === 'float' || type === 'integer') return ['auto', 'avg', 'last', 'min', 'max'];
  return type === 'boolean' ? ['auto', 'last', 'bool_or'] : ['auto', 'last'];
}

/** Type of the cells of a column. */
export function columnType(
  type: TelemetryType,
  aggregation: Exclude<Aggregation, 'auto'>,
  gapMethod: GapMethod,
): ColumnType {
  if (type === 'array_of_strings' || type === 'alerts') return 'string_array';
  if (type === 'boolean') return 'boolean';
  if (type === 'float' || type === 'integer')
    return aggregation === 'avg' || gapMethod === 'interpolation' ? 'float' : type;
  return 'string';
}
