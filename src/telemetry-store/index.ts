/**
 * Everything that was ever measured: a synced journal of batches, sealed blocks of compressed columns in history.db, and
 * the questions asked of both. FORMAT.md has the bytes, README.md the promises.
 */
export { BatchWriter, type SeriesCoding, type Shape, createCoding } from './codec/batch.ts';
export {
  type Latest,
  type Series,
  type StoredValue,
  fromStored,
  kindOf,
  toStored,
  writeSeriesCopy,
} from './codec/series.ts';
export { historyOwner } from './engine/block-store.ts';
export { type ChangePosition, neededAfter } from './engine/change-position.ts';
export type { ChangedSamples } from './engine/change-reader.ts';
export type { Changes, ChangesPlan } from './engine/changes.ts';
export type { EngineContent, EngineStatus } from './engine/engine.ts';
export { type RetentionPolicy, retentionPolicy } from './engine/retention.ts';
export type { EngineRoom } from './engine/store-room.ts';
export { ThreadedHistory } from './engine/threaded-history.ts';
export { Journal, type JournalFiles } from './journal/index.ts';
export { type AmountMinutes, CELL } from './query/amounts.ts';
export { csvField } from './query/csv-rows.ts';
export {
  AGGREGATIONS,
  type Aggregation,
  type AmountColumn,
  type AmountsPlan,
  type ColumnType,
  GAP_METHODS,
  type GapMethod,
  type PlannedColumn,
  type QueryPlan,
  TEXT_FORMATS,
  ZONES,
  allowedAggregations,
  columnType,
  resolveAggregation,
} from './query/query-plan.ts';
export { type SampleStretch, stretchOf } from './query/sample-rows.ts';
