/** What telemetry asks of the store of its samples, wherever that runs. */
import type { KnownSeries } from './series-registry.ts';
import type { QueryPlan } from './query-plan.ts';

export interface HistoryState {
  known: KnownSeries[];
  /** No series was ever given an id from here on. */
  nextSeriesId: number;
  /** Last journal record that the store holds, synced. */
  lastSequence: number;
}

export interface History {
  /** Opens the store and takes in the journal. */
  start(): Promise<HistoryState>;
  /** A journal record that is on disk now. */
  apply(sequence: number, record: Uint8Array): void;
  /** Rows of the answer as CSV text; ends early, with the signal's reason, when aborted. */
  rows(plan: QueryPlan, signal: AbortSignal): AsyncGenerator<string>;
  stop(): Promise<void>;
}
