/** Messages between the sandbox's main thread and the threads that run rules. */
import type { EpochMs } from '../../lib/time.ts';
import type { DryRunEntry, DryRunPeriod, DryRunReport } from '../../protocol/dry-run.ts';
import type {
  RecordedRequest,
  RuleAnswer,
  RuleLogEntry,
  RuleScript,
  RunsReport,
  SandboxSite,
} from '../../protocol/rule-sandbox.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';

/** A value that a script watches has changed. */
export interface Change {
  watchId: number;
  value: JsonValue;
  timestampMs: EpochMs;
}

/** `id`: it is to be run by hand at once, and the report has this number. */
export type StartedScript = RuleScript & { runNowId?: number };

export interface RuleTypes {
  script: StartedScript;
  order:
    | ({ type: 'changed' } & Change)
    | { type: 'trace'; id: number }
    | { type: 'run_now'; id: number }
    | { type: 'traced'; isTraced: boolean };
  shared: SandboxSite;
  event:
    | { type: 'log'; entries: RuleLogEntry[] }
    | ({ type: 'runs' } & RunsReport)
    /** It has ended by itself. */
    | { type: 'ended'; how: RunEnd }
    | Fault;
  /** JSON text of a RuleRequest and of a RuleAnswer. */
  request: string;
  answer: string;
}

export interface DryRunTypes {
  script: { rule: RuleScript; period: DryRunPeriod };
  order: never;
  shared: SandboxSite;
  event:
    | { type: 'entry'; entry: DryRunEntry }
    | { type: 'report'; report: Omit<DryRunReport, 'entries'> }
    | Fault;
  request: RecordedRequest;
  answer: RuleAnswer;
}

/** A fault of this program, for the service log. */
interface Fault {
  type: 'fault';
  text: string;
}

/**
 * `finished`: nothing is left to do. `broken`: it does not compile, trying again is of no use. `failed`: with an
 * error, which is in the log already.
 */
export type RunEnd = 'finished' | 'broken' | 'failed';
