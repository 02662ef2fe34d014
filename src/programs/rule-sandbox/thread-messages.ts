/** Between the sandbox's main thread and the threads that hold the Lua states. Copied, not parsed. */
import type { Limits } from '../../lib/limits.ts';
import type { DryRunEntry, DryRunPeriod, DryRunReport } from '../../protocol/dry-run.ts';
import type {
  DryRunQuestion,
  RuleAnswer,
  RuleLogEntry,
  RuleQuestion,
  RuleScript,
  RuleUsage,
  SandboxSite,
} from '../../protocol/rule-sandbox.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';

export interface ThreadData {
  site: SandboxSite;
  /** Two words: number of the run that has its slice (0: none), count of slices. */
  watch: SharedArrayBuffer;
  limits: Pick<Limits, 'lua' | 'rules'>;
}

export type ToThread =
  | { type: 'start'; rule: RuleScript; run: number }
  | { type: 'stop'; run: number }
  | { type: 'site'; site: SandboxSite }
  | { type: 'answer'; id: number; answer: RuleAnswer }
  | { type: 'changed'; run: number; watchId: number; value: JsonValue; timestampMs: number }
  | { type: 'usage' }
  /** Answers to its questions come as those of rules do. */
  | { type: 'dry_run'; rule: RuleScript; run: number; period: DryRunPeriod };

export type FromThread =
  | { type: 'log'; run: number; entries: RuleLogEntry[] }
  | { type: 'request'; run: number; id: number; question: RuleQuestion }
  | { type: 'ended'; run: number; how: RunEnd }
  /** Answer to `stop`: nothing more is heard of the run. */
  | { type: 'stopped'; run: number }
  | { type: 'usage'; usage: RuleUsage[] }
  | { type: 'dry_run_request'; run: number; id: number; question: DryRunQuestion }
  | { type: 'dry_run_entry'; run: number; entry: DryRunEntry }
  | { type: 'dry_run_over'; run: number; report: Omit<DryRunReport, 'entries'> }
  /** A fault of ours, for the service log. */
  | { type: 'fault'; ruleId: string; text: string };

/**
 * `finished`: nothing is left to do. `broken`: it does not compile, trying again is of no use. `failed`: with an
 * error, which is in the log already.
 */
export type RunEnd = 'finished' | 'broken' | 'failed';

export const WATCH_WORDS = { run: 0, slices: 1 } as const;
