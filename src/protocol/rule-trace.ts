/** Runs of a rule with their reads and effects, as the sandbox traces them. */
import type { DurationMs, EpochMs } from '../lib/time.ts';
import type { JsonValue } from './telemetry.ts';

export const RUN_CAUSES = ['start', 'interval', 'schedule', 'event', 'run_now'] as const;
export type RunCause = (typeof RUN_CAUSES)[number];

/** `event`: the value that the function was called with. `device`: a device that was not found. */
export const STEP_KINDS = [
  'event',
  'telemetry',
  'aggregate',
  'property',
  'online',
  'device',
  'command',
  'output',
  'release',
  'notify',
  'http',
  'storage_read',
  'storage_write',
  'storage_remove',
] as const;

/** One call of a function of the rule API, with its result. */
export interface RunStep {
  kind: (typeof STEP_KINDS)[number];
  atMs: EpochMs;
  durationMs: DurationMs;
  deviceId?: string;
  /**
   * Name of the attribute, command, key or method as written in the script; for an unknown device the name in the
   * script.
   */
  name?: string;
  arguments?: JsonValue;
  result?: JsonValue;
  error?: string;
  /** A value was too long and is missing or cut. */
  isCut?: true;
}

/** One call of a function that the rule registered, or of its main part. */
export interface TracedRun {
  cause: RunCause;
  startedAtMs: EpochMs;
  /** Undefined while it goes on. */
  durationMs?: DurationMs;
  /** The newest ones, in order of their end. */
  steps: RunStep[];
  /** Number of earlier steps that are not listed. */
  leftOut: number;
  /** Why it failed. */
  error?: string;
}
