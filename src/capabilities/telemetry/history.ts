/** What telemetry asks of the store of its samples, wherever that runs. */
import type { EngineContent, EngineStatus } from './engine.ts';
import type { EngineRoom } from './store-room.ts';
import type { StorePlan } from './query-plan.ts';

export interface HistoryEvents {
  /** Journal records before `fromSequence` are needed no more; series below `nextSeriesId` are known. */
  onSealed: (fromSequence: number, nextSeriesId: number) => void;
  /** It can be used although it could not at the start, or again. */
  onReady: (content: EngineContent) => void;
}

export interface History {
  /**
   * Opens the store and takes in the journal. Undefined when it cannot be opened now: then it is tried again until
   * `onReady` is called.
   */
  start(events: HistoryEvents): Promise<EngineContent | undefined>;
  /** Why nothing can be read or written now; undefined when all is well. */
  readonly failure: string | undefined;
  /** A journal record that is on disk now. A promise asks to wait before the next one. */
  apply(sequence: number, record: Uint8Array): Promise<void> | void;
  /**
   * Rows of the answer as CSV text, or lines of samples; ends early, with the signal's reason, when aborted.
   * @throws GatewayError unavailable, when too many queries wait or the store is down
   */
  rows(plan: StorePlan, signal: AbortSignal): AsyncGenerator<string>;
  /** What it may take on the disk from now on; tried again at once when it could not be opened. */
  setRoom(room: EngineRoom): void;
  /** Seals everything now, for a backup. @throws when the disk refuses */
  seal(): Promise<void>;
  /** As of a few seconds ago; undefined before the first report. */
  status(): EngineStatus | undefined;
  stop(): Promise<void>;
}
