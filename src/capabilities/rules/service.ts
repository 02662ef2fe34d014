import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type EpochMs, formatDurationMs } from '../../lib/time.ts';
import { Emitter } from '../../lib/emitter.ts';
import {
  alreadyExists,
  conflict,
  invalidBody,
  requireFound,
  requireUnderLimit,
  unavailable,
  unprocessable,
} from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { within } from '../../platform/clock/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { Database, GroupCommit, SqlDatabase } from '../../platform/sqlite/index.ts';
import type { DryRunPeriod } from '../../protocol/dry-run.ts';
import type { TracedRun } from '../../protocol/rule-trace.ts';
import { createSyntaxChecker, type SyntaxFault } from '#scripting/lua';
import { RuleLogs } from './logs.ts';
import {
  type DryRunResult,
  type Engine,
  isTraced,
  NOT_RUNNING,
  type Rule,
  type RuleCondition,
  type RuleEvents,
  type RuleRunner,
  type RuleScript,
  type RuleStrategy,
  type RuleVersion,
} from './model.ts';
import { scriptWarnings } from './check/script-check.ts';
import { createRuleStore, type RuleStore } from './store.ts';
import { PastRuns } from './traced-runs.ts';

/** A rule to be added. */
export type NewRule = Pick<Rule, 'slug' | 'script' | 'disabled'> & Made;

/** The origin of a script: a strategy, and the name of the person who saves it. */
interface Made {
  strategy?: RuleStrategy | undefined;
  by?: string;
}

export interface DryRunRequest {
  /** Id or slug of the rule whose storage is used; undefined: an empty storage. */
  rule: string | undefined;
  /** Used in place of the rule's own script; required without a rule. */
  script: RuleScript | undefined;
  period: DryRunPeriod;
}

interface RulesOptions extends Instruments {
  database: Database;
  history: SqlDatabase;
  /** Group commit of history.db. */
  historyCommits: GroupCommit;
  /** Largest size of all log entries on the disk; default: no limit. */
  logSizeMaxBytes?: () => number;
  /** Called with the number of entries that were removed early for lack of room. */
  onLogsRemovedEarly?: (count: number) => void;
  limits?: Limits;
  newId?: () => string;
  newVersionId?: () => string;
}

const off = async (): Promise<never> => {
  throw unprocessable('rule_sandbox_off', 'No rules run on this gateway: its rule sandbox is off.');
};

/** A runner that runs nothing, used before `start`. */
const NO_RUNNER: RuleRunner = {
  run: () => undefined,
  update: () => undefined,
  end: () => undefined,
  condition: () => NOT_RUNNING,
  startDone: async () => undefined,
  runs: async () => [],
  runNow: off,
  dryRun: off,
};

/**
 * Rules: their records, and which of them should run. The scripts themselves run in
 * another program. Source: docs/interface/lua-rules.md.
 */
export class Rules {
  readonly events: Emitter<RuleEvents>;
  readonly logs: RuleLogs;
  readonly #options: RulesOptions;
  readonly #limits: Limits['rules'];
  readonly #store: RuleStore;
  readonly #newId: () => string;
  readonly #rules: Map<string, Rule>;
  readonly #engineId: string;
  /** Rules whose script does not compile: they are not tried again until it is another one. */
  readonly #broken = new Set<string>();
  readonly #pastRuns: PastRuns;
  #isSuspended: boolean;
  #runner: RuleRunner = NO_RUNNER;

  constructor(options: RulesOptions) {
    const log = options.log.child({ component: 'rules' });
    this.#options = options;
    this.#limits = (options.limits ?? LIMITS).rules;
    this.#newId = options.newId ?? randomUUID;
    this.#pastRuns = new PastRuns(this.#limits.trace);
    this.events = new Emitter<RuleEvents>(log);
    this.logs = new RuleLogs({
      ...options,
      log,
      commits: options.historyCommits,
      limits: this.#limits,
      events: this.events,
      isKnown: (ruleId) => this.#rules.has(ruleId),
    });
    this.#store = createRuleStore(options.database);
    const engine = this.#store.engine() ?? this.#makeEngine();
    this.#engineId = engine.id;
    this.#isSuspended = engine.isSuspended;
    this.#rules = new Map(this.#store.rules().map((rule) => [rule.id, rule]));
    this.logs.keepOnly(new Set(this.#rules.keys()));
  }

  #makeEngine(): { id: string; isSuspended: boolean } {
    const id = this.#newId();
    this.#store.insertEngine(id);
    return { id, isSuspended: false };
  }

  /** Storage of scripts. */
  get storage(): RuleStore['values'] {
    return this.#store.values;
  }

  engine(): Engine {
    return { id: this.#engineId, state: this.#isSuspended ? 'SUSPENDED' : 'ACTIVE' };
  }

  /** Stops every script; flags of rules stay as they are. */
  suspend(): Engine {
    return this.#setSuspended(true);
  }

  resume(): Engine {
    return this.#setSuspended(false);
  }

  #setSuspended(isSuspended: boolean): Engine {
    if (isSuspended !== this.#isSuspended) {
      this.#store.setSuspended(isSuspended);
      this.#isSuspended = isSuspended;
      for (const rule of this.#rules.values()) this.#apply(rule);
    }
    return this.engine();
  }

  /** Every rule, by id ascending. */
  all(): readonly Rule[] {
    return [...this.#rules.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  }

  /** By id or slug. @throws GatewayError rule_not_found (404) */
  require(idOrSlug: string): Rule {
    const message = `There is no rule "${idOrSlug.slice(0, 64)}".`;
    return requireFound('rule_not_found', message, this.#find(idOrSlug));
  }

  condition(rule: Rule): RuleCondition {
    const condition = this.#shouldRun(rule) ? this.#runner.condition(rule.id) : NOT_RUNNING;
    return { ...condition, isBroken: this.#broken.has(rule.id) };
  }

  /** The first fault of its syntax; nothing is run or stored. */
  check({ code }: RuleScript): SyntaxFault | undefined {
    return createSyntaxChecker().check(Buffer.from(code));
  }

  /** Resolves when the rules that should run were started, or after a moment, because a box under load is slower. */
  async settled(rules: readonly Rule[]): Promise<void> {
    const starting = rules.filter((rule) => this.#shouldRun(rule) && !this.condition(rule).isStarted);
    if (starting.length === 0) return;
    const started = Promise.all(starting.map(({ id }) => this.#runner.startDone(id)));
    await within(this.#options.clock, this.#limits.startAnswerMs, started);
  }

  /** @throws GatewayError already_exists, rule_limit_reached */
  create({ slug, script, disabled, strategy, by }: NewRule): Rule {
    const { rules: limit } = this.#limits;
    requireUnderLimit('rule_limit_reached', `The site has ${limit} rules.`, this.#rules.size, limit);
    this.#requireFreeSlug(slug);
    // Before it is stored: the checker may be refused memory or a file, and then nothing may have changed.
    const fault = this.check(script);
    const createdAtMs = this.#options.clock.wallMs();
    const rule = { id: this.#newId(), slug, disabled, script, strategy, traced: undefined, createdAtMs };
    this.#options.database.transaction(() => {
      this.#store.insert(rule);
      this.#addVersion(rule, createdAtMs, by);
    });
    this.#rules.set(rule.id, rule);
    this.#noteSyntax(rule, fault);
    this.#apply(rule);
    return rule;
  }

  /** @throws GatewayError already_exists */
  rename(rule: Rule, slug: string): Rule {
    if (slug === rule.slug) return rule;
    this.#requireFreeSlug(slug);
    const renamed = this.#put({ ...rule, slug });
    this.#runner.update(renamed);
    return renamed;
  }

  /** Traces its runs from now on, or no more; it goes on. */
  setTraced(rule: Rule, traced: boolean): Rule {
    if (traced === isTraced(rule)) return rule;
    const changed = this.#put({ ...rule, traced });
    this.#runner.update(changed);
    return changed;
  }

  /** Its traced runs, newest first. */
  async runs({ id }: Rule): Promise<readonly TracedRun[]> {
    return [...(await this.#runner.runs(id)), ...this.#pastRuns.of(id)];
  }

  /** Keeps the runs of a script that has ended. */
  keepRuns(ruleId: string, runs: readonly TracedRun[]): void {
    // The last ones of a deleted rule come after it is gone.
    if (this.#rules.has(ruleId)) this.#pastRuns.add(ruleId, runs);
  }

  /**
   * Runs the rule once now, whatever its schedule. @throws GatewayError rule_engine_suspended, rule_disabled, rule_broken,
   * rule_running, rule_without_functions, rule_sandbox_off, unavailable
   */
  async runNow(rule: Rule): Promise<readonly TracedRun[]> {
    if (this.#isSuspended)
      throw conflict('rule_engine_suspended', 'All rules are suspended; resume them first.');
    if (rule.disabled) throw conflict('rule_disabled', 'The rule is disabled; enable it first.');
    if (this.#broken.has(rule.id))
      throw unprocessable('rule_broken', 'The script does not compile; the log of the rule says why.');
    await this.settled([rule]);
    if (this.condition(rule).isStarting) throw unavailable('The rule sandbox is starting.');
    return this.#runner.runNow(rule.id);
  }

  /**
   * Replaces the whole script; a running rule starts again with it. Without a strategy, another text is a script of a
   * person's own.
   */
  updateScript(rule: Rule, script: RuleScript, { strategy, by }: Made = {}): Rule {
    const fault = this.check(script);
    const kept = script.code === rule.script.code ? rule.strategy : undefined;
    const updated = { ...rule, script, strategy: strategy ?? kept };
    const nowMs = this.#options.clock.wallMs();
    this.#options.database.transaction(() => {
      this.#store.update(updated, nowMs);
      if (!isDeepStrictEqual(script, rule.script)) this.#addVersion(updated, nowMs, by);
    });
    this.#rules.set(rule.id, updated);
    this.#noteSyntax(updated, fault);
    this.#apply(updated);
    return updated;
  }

  /** Scripts that the rule had, newest first; the first one is its present script. */
  versions(rule: Rule): RuleVersion[] {
    return this.#store.versions(rule.id);
  }

  /** @throws GatewayError rule_version_not_found (404) */
  requireVersion(rule: Rule, id: string): RuleVersion {
    const message = `There is no version "${id.slice(0, 64)}" of this rule; only the newest are kept.`;
    return requireFound('rule_version_not_found', message, this.#store.version(rule.id, id));
  }

  /** All or none. @throws GatewayError rule_not_found */
  setDisabled(idsOrSlugs: readonly string[], disabled: boolean): Rule[] {
    const rules = this.#requireAll(idsOrSlugs);
    const changed = rules.filter((rule) => rule.disabled !== disabled).map((rule) => ({ ...rule, disabled }));
    const nowMs = this.#options.clock.wallMs();
    this.#options.database.transaction(() => {
      for (const rule of changed) this.#store.update(rule, nowMs);
    });
    for (const rule of changed) {
      this.#rules.set(rule.id, rule);
      this.#apply(rule);
    }
    return rules.map((rule) => this.require(rule.id));
  }

  /** All or none. @throws GatewayError rule_not_found */
  remove(idsOrSlugs: readonly string[]): void {
    const rules = this.#requireAll(idsOrSlugs);
    this.#options.database.transaction(() => {
      for (const { id } of rules) {
        this.#store.remove(id);
        this.#store.values.removeScope(id);
      }
    });
    for (const { id } of rules) {
      this.#runner.end(id);
      this.#rules.delete(id);
      this.#broken.delete(id);
      this.logs.forget(id);
      this.#pastRuns.forget(id);
      this.events.emit('rule_deleted', { ruleId: id });
    }
  }

  /**
   * Runs a script, or that of a rule, over a past period; it sends no commands or requests and stores nothing. An end in
   * the future means now. Rejects with the signal's reason when it is aborted.
   * @throws GatewayError rule_not_found, invalid_body, rule_sandbox_off, dry_run_active, unavailable
   */
  async dryRun(
    { rule: name, script, period }: DryRunRequest,
    signal: AbortSignal,
  ): Promise<DryRunResult & { period: DryRunPeriod }> {
    const named = name === undefined ? undefined : this.require(name);
    const tried = script ?? named?.script;
    if (!tried) throw invalidBody('', 'The body must have a script or a rule_id.');
    const rule = { id: named?.id ?? this.#newId(), slug: named?.slug ?? 'dry-run', script: tried };
    const past = { fromMs: period.fromMs, toMs: Math.min(period.toMs, this.#options.clock.wallMs()) };
    const { periodMs } = this.#limits.dryRun;
    if (past.fromMs >= past.toMs)
      throw invalidBody('from', 'Field "from" must be earlier than "to", and in the past.');
    if (past.toMs - past.fromMs > periodMs)
      throw invalidBody('to', `Field "to" must be at most ${formatDurationMs(periodMs)} later than "from".`);
    return { ...(await this.#runner.dryRun(rule, past, signal)), period: past };
  }

  /** Starts the rules that should run. */
  start(runner: RuleRunner): void {
    this.#runner = runner;
    this.#findBroken();
    for (const rule of this.#rules.values()) if (this.#shouldRun(rule)) this.#apply(rule);
  }

  async stop(): Promise<void> {
    this.#runner = NO_RUNNER;
    await this.logs.stop();
  }

  #find(idOrSlug: string): Rule | undefined {
    return this.#rules.get(idOrSlug) ?? [...this.#rules.values()].find(({ slug }) => slug === idOrSlug);
  }

  /** Each rule once, in the order of the request. */
  #requireAll(idsOrSlugs: readonly string[]): Rule[] {
    return [...new Set(idsOrSlugs.map((name) => this.require(name)))];
  }

  #put(rule: Rule): Rule {
    this.#store.update(rule, this.#options.clock.wallMs());
    this.#rules.set(rule.id, rule);
    return rule;
  }

  #addVersion({ id: ruleId, script, strategy }: Rule, createdAtMs: EpochMs, savedBy?: string): void {
    this.#store.addVersion(
      { id: (this.#options.newVersionId ?? randomUUID)(), ruleId, createdAtMs, savedBy, script, strategy },
      this.#limits,
    );
  }

  #shouldRun(rule: Rule): boolean {
    return !rule.disabled && !this.#isSuspended && !this.#broken.has(rule.id);
  }

  /** Starts or ends the rule in the runner, by the present state of rule and engine. */
  #apply(rule: Rule): void {
    if (this.#shouldRun(rule)) this.#runner.run(rule);
    else this.#runner.end(rule.id);
  }

  #findBroken(): void {
    // The checker takes memory, which a box without rules does not need.
    if (this.#rules.size === 0) return;
    const checker = createSyntaxChecker();
    for (const { id, script } of this.#rules.values())
      if (checker.check(Buffer.from(script.code))) this.#broken.add(id);
  }

  /** A script with a fault is kept, because editors save work in progress; the fault is logged. */
  #noteSyntax({ id, slug, script }: Rule, fault: SyntaxFault | undefined): void {
    for (const { line, message } of scriptWarnings(script, this.#limits.warnings))
      this.logs.append(id, 'warning', `${slug}.lua:${line}: ${message}`);
    if (!fault) return void this.#broken.delete(id);
    this.#broken.add(id);
    const line = fault.line === undefined ? '' : `:${fault.line}`;
    this.logs.append(id, 'error', `${slug}.lua${line}: ${fault.message}`);
  }

  #requireFreeSlug(slug: string): void {
    if (!this.#find(slug)) return;
    const message = `Another rule has the slug "${slug}".`;
    throw alreadyExists(message, 'slug', slug);
  }
}
