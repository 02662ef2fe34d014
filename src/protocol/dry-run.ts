/**
 * A dry run: a rule's script goes through a past period in virtual time and changes nothing. What the gateway and
 * the rule sandbox say to each other about one; the messages themselves are in `rule-sandbox.ts`.
 */
import type { DurationMs, EpochMs } from '../lib/time.ts';
import type { LogSeverity } from './device-log.ts';
import type { NotifyParameters } from './notification.ts';
import type { OutputParameters } from './output.ts';
import type { JsonValue } from './telemetry.ts';

/** The stretch of time that a script goes through; both ends belong to it. */
export interface DryRunPeriod {
  fromMs: EpochMs;
  toMs: EpochMs;
}

/** Recorded facts, and requests that can be judged without effect; errors are texts as for rules. */
export interface RecordedMethods {
  /**
   * Samples of an attribute by name or alias, later than `afterMs` and up to `toMs`, in order of time and as many
   * as fit one answer. Who goes on asks again after the last.
   */
  samples: { deviceId: string; name: string; afterMs: EpochMs; toMs: EpochMs };
  /** As `aggregate` of rules, over the window that ends at `endMs`. */
  aggregate_at: {
    deviceId: string;
    name: string;
    kind: 'avg' | 'min' | 'max';
    windowMs: DurationMs;
    endMs: EpochMs;
  };
  /** An error when the command or its arguments would be refused whatever the state of the device. */
  check_command: { deviceId: string; name: string; arguments: Record<string, JsonValue> };
  /** The same for a request for an output: the commands as they would be sent. */
  check_output: OutputParameters;
}

/** Milliseconds since 1970, value. */
export type RecordedSample = [number, JsonValue];

export interface RecordedResults {
  samples: {
    /** The last one not later than `afterMs`. */
    before: RecordedSample | null;
    samples: RecordedSample[];
    /** False: there are more. */
    isComplete: boolean;
  };
  aggregate_at: number;
  check_command: null;
  check_output: {
    output: string;
    /** Null: only bounds. */
    command: { name: string; arguments: Record<string, JsonValue> } | null;
    safe: { name: string; arguments: Record<string, JsonValue> } | null;
  };
}

/** One thing that the script did, or would have done. */
export type DryRunEntry = { atMs: EpochMs } & (
  | { kind: 'log'; severity: LogSeverity; message: string }
  /** `error`: it would have been refused, and the script got that error. */
  | {
      kind: 'command';
      deviceId: string;
      name: string;
      arguments: Record<string, JsonValue>;
      error?: string;
    }
  /** `value` is JSON text, cut when it is long; absent: the key was removed. */
  | { kind: 'storage'; store: 'rule' | 'shared' | 'public'; key: string; value?: string }
  | { kind: 'http'; method: string; url: string }
  | ({ kind: 'notification'; error?: string } & NotifyParameters)
  | { kind: 'error'; message: string }
  | { kind: 'restart'; afterMs: DurationMs }
);

export const DRY_RUN_KINDS = [
  'log',
  'command',
  'storage',
  'http',
  'notification',
  'error',
  'restart',
] as const;
export type DryRunKind = (typeof DRY_RUN_KINDS)[number];

/** `failed`: it does not compile, or had to be ended with its thread. */
export const DRY_RUN_ENDS = ['period_ended', 'finished', 'failed', 'limit_reached'] as const;
/** The limit that was reached: steps of virtual time, or time of the machine. */
export const DRY_RUN_LIMITS = ['steps', 'time'] as const;

export interface DryRunReport {
  end: (typeof DRY_RUN_ENDS)[number];
  /** With `limit_reached`. */
  limit?: (typeof DRY_RUN_LIMITS)[number];
  /** The instant in the period that was reached. */
  endedAtMs: EpochMs;
  /** In order. */
  entries: DryRunEntry[];
  /** Number of entries of each kind, including those that are not in `entries` because there were too many. */
  counts: Partial<Record<DryRunKind, number>>;
}
