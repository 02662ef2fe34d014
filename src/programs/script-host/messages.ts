/**
 * Between the main thread of a program and the threads that hold its Lua states, those of one turn together. Copied, not
 * parsed.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';

/** What a program's own messages are made of. */
export interface ScriptTypes {
  /** What is started. */
  script: unknown;
  /** What a running script is told. */
  order: unknown;
  /** What is the same for all scripts, and may change. */
  shared: unknown;
  /** What a running script tells. */
  event: unknown;
  /** What it asks, and what it is answered. */
  request: unknown;
  answer: unknown;
}

/** What a thread is given at its start. */
export interface ThreadSetup<Types extends ScriptTypes> {
  shared: Types['shared'];
  watch: SharedArrayBuffer;
  limits: Pick<Limits, 'lua' | 'rules'>;
}

/** A run is one life of one script: another number for each start, so that nothing of an earlier one counts. */
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
  /** Nothing more is heard of the run: it ended by itself, or was told to stop. */
  | { type: 'over'; run: number }
  | { type: 'usage'; usage: Usage[] };

export interface Usage {
  run: number;
  /** Memory of its Lua states. */
  memoryBytes: number;
  processorMs: DurationMs;
}

/** Words of the shared memory: number of the run that has its slice (0: none), count of begins and ends of slices. */
export const WATCH_WORDS = { run: 0, slices: 1 } as const;
