/**
 * Messages between the main thread of a program and the threads that hold its Lua states. Those of one turn go together;
 * they are copied, not parsed.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';

/** The parts of the messages that each program defines for itself. */
export interface ScriptTypes {
  /** A script to be started. */
  script: unknown;
  /** An order to a running script. */
  order: unknown;
  /** State that all scripts share and that may change. */
  shared: unknown;
  /** An event that a running script reports. */
  event: unknown;
  /** A request of a script, and the answer to it. */
  request: unknown;
  answer: unknown;
}

/** Settings of a thread at its start. */
export interface ThreadSetup<Types extends ScriptTypes> {
  shared: Types['shared'];
  watch: SharedArrayBuffer;
  limits: Pick<Limits, 'lua' | 'rules'>;
}

/** A run is one life of one script. Each start has a new number, so that late messages of an earlier run are ignored. */
export type ToThread<Types extends ScriptTypes> =
  | { type: 'start'; run: number; script: Types['script'] }
  | { type: 'stop'; run: number }
  | { type: 'order'; run: number; order: Types['order'] }
  | { type: 'shared'; shared: Types['shared'] }
  | { type: 'answer'; call: number; answer: Types['answer'] }
  | { type: 'usage' };

export type FromThread<Types extends ScriptTypes> =
  | { type: 'event'; run: number; event: Types['event'] }
  | { type: 'request'; run: number; call: number; request: Types['request'] }
  /** The last message of a run: it ended by itself, or was stopped. */
  | { type: 'over'; run: number }
  | { type: 'usage'; usage: Usage[] };

export interface Usage {
  run: number;
  /** Memory of its Lua states. */
  memoryBytes: number;
  processorMs: DurationMs;
}

/** Words of the shared memory: number of the run that has its slice (0: none), count of slices begun and ended. */
export const WATCH_WORDS = { run: 0, slices: 1 } as const;
