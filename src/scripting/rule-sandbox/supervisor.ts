/**
 * Keeps the rules running that the gateway wants to run (docs/interface/lua-rules.md#states): places them on threads,
 * starts failed ones again after growing pauses, and those at once whose thread was ended because of another.
 */
import type { Limits } from '../../lib/limits.ts';
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import type {
  RuleLogEntry,
  RuleScript,
  RuleState,
  RuleUsage,
  RunsReport,
  SandboxOrder,
  SandboxReport,
  SandboxSite,
} from '../../protocol/rule-sandbox.ts';
import { exactJson } from '../../lib/json.ts';
import { programEntry } from '../../platform/processes/index.ts';
import type { startThread } from '../../platform/threads/index.ts';
import { type ScriptRun, ScriptThreads, type ThreadLoss } from '#scripting/host';
import type { RuleTypes, RunEnd } from './thread-messages.ts';

interface SupervisorOptions {
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
  site: SandboxSite;
  /** False: the message was dropped, because the gateway does not read fast enough. */
  send: (message: SandboxReport) => boolean;
  /** Default: real threads. */
  startThread?: typeof startThread;
}

interface Rule {
  script: RuleScript;
  generation: number;
  /** Undefined while it does not run. */
  run: ScriptRun<RuleTypes> | undefined;
  startedMs: MonotonicMs;
  restartPause: DoublingPause;
  restart: { cancel(): void } | undefined;
  isSolitary: boolean;
}

const STATUS_MS = 60_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #threads: ScriptThreads<RuleTypes>;
  readonly #rules = new Map<string, Rule>();
  readonly #ruleOfRun = new Map<number, Rule>();
  /** Requests that the gateway has not answered. */
  readonly #requests = new Map<number, { run: number; answer: (content: string) => void }>();
  readonly #statusTimer: { cancel(): void };
  #site: SandboxSite;
  #lastRequest = 0;
  #threadsEnded = 0;
  /** The rule because of which the last thread was ended. */
  #culprit: Rule | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#site = options.site;
    this.#threads = new ScriptThreads<RuleTypes>({
      ...ruleThreads(options),
      entry: programEntry('scripting/rule-sandbox/rule-thread'),
      shared: options.site,
      onThreadEnded: (loss, rules) => this.#threadEnded(loss, rules),
      ...(options.startThread && { start: options.startThread }),
    });
    this.#statusTimer = options.clock.setRepeating(STATUS_MS, () => this.#tellStatus());
  }

  receive(message: SandboxOrder): void {
    switch (message.type) {
      case 'start':
        this.#start(message.rule, message.generation);
        break;
      case 'stop':
        this.#stop(message.ruleId);
        break;
      case 'update': {
        const { ruleId, slug, isTraced } = message;
        const rule = this.#rules.get(ruleId);
        if (!rule) break;
        rule.script = { ...rule.script, slug, isTraced };
        rule.run?.tell({ type: 'traced', isTraced });
        break;
      }
      case 'trace':
      case 'run_now':
        this.#look(message);
        break;
      case 'site':
        this.#setSite(message.site);
        break;
      case 'answer':
        this.#answer(message.id, message.content);
        break;
      case 'changed': {
        const { run, watchId, value, timestampMs } = message;
        this.#ruleOfRun.get(run)?.run?.tell({ type: 'changed', watchId, value, timestampMs });
      }
    }
  }

  async stop(): Promise<void> {
    this.#statusTimer.cancel();
    for (const rule of this.#rules.values()) rule.restart?.cancel();
    await this.#threads.stop();
  }

  #start(script: RuleScript, generation: number): void {
    const present = this.#rules.get(script.id);
    if (present) this.#end(present);
    const { restartFirstMs: firstMs, restartMaxMs: maxMs } = this.#options.limits.rules;
    const rule: Rule = {
      script,
      generation,
      run: undefined,
      startedMs: 0,
      restartPause: new DoublingPause({ firstMs, maxMs }),
      restart: undefined,
      isSolitary: false,
    };
    this.#rules.set(script.id, rule);
    this.#launch(rule);
  }

  #stop(ruleId: string): void {
    const rule = this.#rules.get(ruleId);
    if (!rule) return;
    this.#end(rule);
    this.#rules.delete(ruleId);
    this.#say(rule, 'info', 'rule stopped');
    this.#tellState(rule, 'STOPPED');
  }

  #look({ type, ruleId, id }: SandboxOrder & { type: 'trace' | 'run_now' }): void {
    const rule = this.#rules.get(ruleId);
    if (rule?.run) rule.run.tell({ type, id });
    else if (rule && type === 'run_now') {
      rule.restart?.cancel();
      this.#launch(rule, id);
    } else this.#options.send({ type: 'runs', ruleId, id, runs: [] });
  }

  #setSite(site: SandboxSite): void {
    const isSameZone = site.timeZone === this.#site.timeZone;
    this.#site = site;
    this.#threads.share(site);
    if (isSameZone) return;
    for (const rule of this.#rules.values())
      if (rule.script.runtimeVersion === 'V3' && rule.run) {
        this.#end(rule);
        this.#launch(rule);
      }
  }

  #launch(rule: Rule, runNowId?: number): void {
    rule.restart = undefined;
    rule.startedMs = this.#options.clock.monotonicMs();
    this.#say(rule, 'info', 'rule started');
    this.#tellState(rule, 'STARTED');
    const { script, generation } = rule;
    const { log, send } = this.#options;
    const tellLog = (entries: RuleLogEntry[]): void =>
      void send({ type: 'log', ruleId: script.id, generation, entries });
    const tellRuns = (report: RunsReport): void => void send({ ...report, type: 'runs', ruleId: script.id });
    const run = this.#threads.start(
      runNowId === undefined ? script : { ...script, runNowId },
      {
        onEvent: (event) => {
          if (event.type === 'log') tellLog(event.entries);
          else if (event.type === 'runs') tellRuns(event);
          else if (event.type === 'ended') this.#runEnded(rule, event.how);
          else log.error('a function of the rule API failed', { rule_id: script.id, fault: event.text });
        },
        // Log entries that it wrote while it stopped still count.
        onLateEvent: (event) => {
          if (event.type === 'log') tellLog(event.entries);
          else if (event.type === 'runs') tellRuns(event);
        },
        onRequest: (request, answer) => this.#ask(rule, run.number, request, answer),
        onThreadLost: (loss) => this.#threadLost(rule, loss),
      },
      rule.isSolitary,
    );
    rule.run = run;
    this.#ruleOfRun.set(run.number, rule);
  }

  /** Ends its run, if there is one, and its wait for the next. */
  #end(rule: Rule): void {
    rule.restart?.cancel();
    rule.restart = undefined;
    rule.run?.stop();
    this.#forgetRun(rule);
  }

  #forgetRun(rule: Rule): void {
    if (!rule.run) return;
    const { number: run } = rule.run;
    this.#ruleOfRun.delete(run);
    for (const [id, request] of this.#requests) if (request.run === run) this.#requests.delete(id);
    rule.run = undefined;
    this.#options.send({ type: 'run_ended', ruleId: rule.script.id, run });
  }

  #ask(rule: Rule, run: number, content: string, answer: (content: string) => void): void {
    const id = ++this.#lastRequest;
    this.#requests.set(id, { run, answer });
    if (!this.#options.send({ type: 'request', id, ruleId: rule.script.id, run, content }))
      this.#answer(id, exactJson({ ok: false, error: 'the gateway is too busy' }));
  }

  #answer(id: number, content: string): void {
    const request = this.#requests.get(id);
    this.#requests.delete(id);
    request?.answer(content);
  }

  #runEnded(rule: Rule, how: RunEnd): void {
    this.#forgetRun(rule);
    if (how === 'failed') {
      this.#restartLater(rule);
      return;
    }
    if (how === 'finished') this.#say(rule, 'info', 'rule finished');
    this.#tellState(rule, 'STOPPED');
  }

  #restartLater(rule: Rule): void {
    const { clock, limits } = this.#options;
    const pauseMs = rule.restartPause.nextAfter(this.#ranMs(rule), limits.rules.stableMs);
    this.#say(rule, 'info', `rule restarts in ${pauseMs / 1_000} s`);
    this.#tellState(rule, 'STOPPED', pauseMs);
    rule.restart = clock.setTimer(pauseMs, () => this.#launch(rule));
  }

  #ranMs({ startedMs }: Rule): DurationMs {
    return this.#options.clock.monotonicMs() - startedMs;
  }

  #threadEnded(loss: ThreadLoss, rules: number): void {
    this.#threadsEnded++;
    const guilty = this.#ruleOfRun.get(loss.culprit ?? 0);
    this.#options.log.warn('a thread of rules ended', {
      reason: reasonOf(loss),
      rule_id: guilty?.script.id,
      rules,
    });
    this.#culprit = guilty;
  }

  #threadLost(rule: Rule, loss: ThreadLoss): void {
    const reason = reasonOf(loss);
    this.#forgetRun(rule);
    if (rule === this.#culprit) {
      rule.isSolitary = true;
      this.#say(rule, 'error', `execution time exceeded: ${reason}, the rule was ended`);
      this.#restartLater(rule);
    } else if (this.#culprit === undefined && this.#ranMs(rule) < this.#options.limits.rules.restartFirstMs) {
      // The culprit is unknown, and starting again at once did not help.
      this.#say(rule, 'error', `its thread was ended soon after its start: ${reason}`);
      this.#restartLater(rule);
    } else {
      const because = this.#culprit ? `rule ${this.#culprit.script.slug} was ${reason}` : reason;
      this.#say(rule, 'warning', `rule starts again, because its thread was ended: ${because}`);
      this.#launch(rule);
    }
  }

  #say(rule: Rule, severity: LogSeverity, message: string): void {
    const { id } = rule.script;
    const entries = [{ timestampMs: this.#options.clock.wallMs(), severity, message }];
    this.#options.send({ type: 'log', ruleId: id, generation: rule.generation, entries });
  }

  #tellState({ script, generation }: Rule, state: RuleState, restartsInMs?: DurationMs): void {
    const pause = restartsInMs === undefined ? {} : { restartsInMs };
    this.#options.send({ type: 'state', ruleId: script.id, generation, state, ...pause });
  }

  #tellStatus(): void {
    const rules = [...this.#rules].flatMap(([ruleId, { run }]): RuleUsage[] =>
      run?.usage ? [{ ruleId, ...run.usage }] : [],
    );
    const { count } = this.#threads;
    this.#options.send({ type: 'status', rules, threads: count, threadsEnded: this.#threadsEnded });
    this.#threads.askUsage();
  }
}

/** Options of threads for rules and for dry runs. */
export function ruleThreads({ clock, limits }: Pick<SupervisorOptions, 'clock' | 'limits'>) {
  const { threads, solitaryThreads, threadHeapMib, threadYoungHeapMib } = limits.rules;
  return {
    clock,
    limits,
    heapMaxMib: threadHeapMib,
    youngHeapMaxMib: threadYoungHeapMib,
    sharedThreads: threads,
    solitaryThreads,
    scriptsPerThread: Number.POSITIVE_INFINITY,
  };
}

export function reasonOf({ wasStuck, error }: ThreadLoss): string {
  return wasStuck ? 'stuck in a built-in function' : (error?.message ?? 'the thread ended');
}
