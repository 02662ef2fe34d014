/** The rule engine of the site and its rules. Source: docs/interface/lua-rules.md#states. */
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { DryRunPeriod, DryRunReport } from '../../protocol/dry-run.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import type { RuleScript as SandboxScript } from '../../protocol/rule-sandbox.ts';
import type { TracedRun } from '../../protocol/rule-trace.ts';

type EngineState = 'ACTIVE' | 'SUSPENDED';

export const RUNTIME_VERSIONS = ['V1', 'V3'] as const;
type RuntimeVersion = (typeof RUNTIME_VERSIONS)[number];

/** The script of a rule, and how it runs. */
export interface RuleScript {
  /** Lua source. */
  code: string;
  runtimeVersion: RuntimeVersion;
  /** How often a V1 script runs; undefined for V3, which schedules itself. */
  execIntervalMs: DurationMs | undefined;
}

/** The strategy of the library that a script is made from. */
export interface RuleStrategy {
  readonly id: string;
  /** Values by parameter, all of them. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** A rule as it is stored. */
export interface Rule {
  readonly id: string;
  readonly slug: string;
  /** As the user has set it. */
  readonly disabled: boolean;
  readonly script: RuleScript;
  /** Undefined: a person wrote or changed the script. */
  readonly strategy: RuleStrategy | undefined;
  /** Whether its runs are traced, as a person has chosen; undefined: rules of strategies are. */
  readonly traced: boolean | undefined;
  readonly createdAtMs: EpochMs;
}

/** A script that a rule had, or has. */
export interface RuleVersion {
  readonly id: string;
  readonly ruleId: string;
  readonly createdAtMs: EpochMs;
  /** Name of who saved it. */
  readonly savedBy: string | undefined;
  readonly script: RuleScript;
  readonly strategy: RuleStrategy | undefined;
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

/** The present state of a rule's script. */
export interface ScriptCondition {
  /** It is loaded and runs (docs/interface/lua-rules.md#states). */
  isStarted: boolean;
  /** It should run, and whether it does is not known yet. */
  isStarting: boolean;
  /** It failed and is started again then; undefined otherwise. */
  restartsAtMs: EpochMs | undefined;
}

export const NOT_RUNNING: ScriptCondition = { isStarted: false, isStarting: false, restartsAtMs: undefined };

/** The present state of a rule. */
export interface RuleCondition extends ScriptCondition {
  /** Its script does not compile: it is not tried before it is another one. */
  isBroken: boolean;
}

/** Emitted after commit. */
export interface RuleEvents {
  log_entry: { entry: RuleLogEntry };
  rule_deleted: { ruleId: string };
}

export type RunnableRule = Pick<Rule, 'id' | 'slug' | 'script'> & Partial<Pick<Rule, 'strategy' | 'traced'>>;

/** A rule as the sandbox gets it. */
export function forSandbox(rule: RunnableRule): SandboxScript {
  const { id, slug, script } = rule;
  const { runtimeVersion, code, execIntervalMs = 0 } = script;
  return { id, slug, runtimeVersion, code, execIntervalMs, isTraced: isTraced(rule) };
}

/** Whether its runs are traced. */
export function isTraced({ traced, strategy }: Pick<RunnableRule, 'strategy' | 'traced'>): boolean {
  return traced ?? strategy !== undefined;
}

/** A series that a script read in a dry run. */
export interface ReadSeries {
  deviceId: string;
  /** Declared name, whichever alias the script uses. */
  attribute: string;
}

/** The report of the sandbox on a dry run, and the series that the gateway saw it read. */
export interface DryRunResult extends DryRunReport {
  /** In the order of the first reading. */
  read: readonly ReadSeries[];
}

/**
 * Runs scripts in another program. It restarts by itself after a crash; `run` and `end` say which rules
 * should run from now on.
 */
export interface RuleRunner {
  /** Starts the script from the top with a fresh state, in place of a running one with this id. */
  run(rule: RunnableRule): void;
  /** A new slug, or another wish to trace; the script goes on. */
  update(rule: RunnableRule): void;
  /** Ends the script, its waits and its jobs; nothing happens when it does not run. */
  end(ruleId: string): void;
  condition(ruleId: string): ScriptCondition;
  /** Resolves when the last start is done: the script runs, or has ended already. */
  startDone(ruleId: string): Promise<void>;
  /** Its traced runs, the newest first, those of earlier lives included. */
  runs(ruleId: string): Promise<readonly TracedRun[]>;
  /** Runs its functions once at once, and resolves with these runs. @throws GatewayError */
  runNow(ruleId: string): Promise<readonly TracedRun[]>;
  /**
   * Runs a script over a past period without changing anything; rejects with the signal's reason when it is
   * aborted. @throws GatewayError rule_sandbox_off, dry_run_active, unavailable
   */
  dryRun(rule: RunnableRule, period: DryRunPeriod, signal: AbortSignal): Promise<DryRunResult>;
}
