/** The rule engine of the site and its rules. Source: docs/interface/lua-rules.md#states. */
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { DryRunPeriod, DryRunReport } from '../../protocol/dry-run.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';

type EngineState = 'ACTIVE' | 'SUSPENDED';

export const RUNTIME_VERSIONS = ['V1', 'V3'] as const;
type RuntimeVersion = (typeof RUNTIME_VERSIONS)[number];

export interface RuleScript {
  /** Lua source. */
  code: string;
  runtimeVersion: RuntimeVersion;
  /** How often a V1 script runs; undefined for V3, which schedules itself. */
  execIntervalMs: DurationMs | undefined;
}

/** A rule as it is stored. */
export interface Rule {
  readonly id: string;
  readonly slug: string;
  /** The user's wish. */
  readonly disabled: boolean;
  readonly script: RuleScript;
  readonly createdAtMs: EpochMs;
}

export interface Engine {
  readonly id: string;
  readonly state: EngineState;
}

export interface RuleLogEntry {
  ruleId: string;
  receivedAtMs: EpochMs;
  severity: LogSeverity;
  message: string;
}

/** What a rule does now. */
export interface RuleCondition {
  isStarted: boolean;
  /** It should run, and whether its script does is not known yet. */
  isStarting: boolean;
  /** It failed and is started again then, in milliseconds since 1970. */
  restartsAtMs: EpochMs | undefined;
  /** Its script does not compile: it is not tried before it is another one. */
  isBroken: boolean;
}

/** Emitted after commit. */
export interface RuleEvents {
  log_entry: { entry: RuleLogEntry };
  rule_deleted: { ruleId: string };
}

export interface RunnableRule {
  id: string;
  slug: string;
  script: RuleScript;
}

/** Telemetry that a script read in a dry run. */
export interface ReadSeries {
  deviceId: string;
  /** Its name, whatever alias the script knows it by. */
  attribute: string;
}

/** What the sandbox reports of a dry run, and what the gateway has seen of it. */
export interface DryRunResult extends DryRunReport {
  /** In the order of the first reading. */
  read: readonly ReadSeries[];
}

/**
 * Runs scripts in another program. It starts again what it lost by itself; `run` and `end` say what should
 * run from now on.
 */
export interface RuleRunner {
  /** Starts the script from the top with a fresh state, in place of the one that runs under this id. */
  run(rule: RunnableRule): void;
  /** A new slug; the script goes on. */
  rename(rule: RunnableRule): void;
  /** Ends it, its waits and its jobs; nothing happens when it does not run. */
  end(ruleId: string): void;
  /** Whether its script is loaded and running now (docs/interface/lua-rules.md#states). */
  isStarted(ruleId: string): boolean;
  /** The sandbox has not reported on its last start yet. */
  isStarting(ruleId: string): boolean;
  /** When it is started again after a failure, in milliseconds since 1970; undefined when it did not fail. */
  restartsAtMs(ruleId: string): EpochMs | undefined;
  /** Resolves when its last start is done: it runs, or has ended already. */
  startDone(ruleId: string): Promise<void>;
  /**
   * Has a script go through a past period without changing anything; rejects with the signal's reason when it is
   * aborted. @throws GatewayError rule_sandbox_off, dry_run_active, unavailable
   */
  dryRun(rule: RunnableRule, period: DryRunPeriod, signal: AbortSignal): Promise<DryRunResult>;
}
