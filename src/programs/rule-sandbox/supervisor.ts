/**
 * Keeps the rules running that the gateway wants to run (lua-rule-api.md 1 and 5): places them on threads,
 * starts failed ones again after growing pauses, and those at once whose thread was ended because of another.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type {
  FromSandbox,
  RuleAnswer,
  RuleQuestion,
  RuleScript,
  RuleSeverity,
  RuleState,
  RuleUsage,
  SandboxSite,
  ToSandbox,
} from '../../protocol/rule-sandbox.ts';
import { restartPauseMs } from './restart-pause.ts';
import type { FromThread, RunEnd } from './thread-messages.ts';
import { type RuleThread, Threads, type ThreadEnd } from './threads.ts';

export interface SupervisorOptions {
  clock: Clock;
  log: Log;
  limits: Pick<Limits, 'lua' | 'rules'>;
  site: SandboxSite;
  /** False: the message was dropped, because the gateway does not read fast enough. */
  send: (message: FromSandbox) => boolean;
}

interface Rule {
  script: RuleScript;
  generation: number;
  /** Zero while it does not run. */
  run: number;
  thread: RuleThread | undefined;
  startedMs: number;
  /** Before this run; zero if it is the first one. */
  pauseMs: number;
  restart: { cancel(): void } | undefined;
  isSolitary: boolean;
}

const STATUS_MS = 60_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #threads: Threads;
  readonly #rules = new Map<string, Rule>();
  readonly #ruleOfRun = new Map<number, Rule>();
  /** Runs that were told to stop: what they said before still counts. */
  readonly #leaving = new Map<number, { ruleId: string; generation: number; thread: RuleThread }>();
  readonly #questions = new Map<number, { thread: RuleThread; run: number; id: number }>();
  readonly #usage = new Map<string, RuleUsage>();
  readonly #statusTimer: { cancel(): void };
  #site: SandboxSite;
  #lastRun = 0;
  #lastQuestion = 0;
  #threadsEnded = 0;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#site = options.site;
    this.#threads = new Threads({
      clock: options.clock,
      limits: options.limits,
      site: () => this.#site,
      onMessage: (thread, message) => this.#heard(thread, message),
      onEnded: (thread, end) => this.#threadEnded(thread, end),
    });
    this.#statusTimer = options.clock.setRepeating(STATUS_MS, () => this.#tellStatus());
  }

  receive(message: ToSandbox): void {
    switch (message.type) {
      case 'start':
        this.#start(message.rule, message.generation);
        break;
      case 'stop':
        this.#stop(message.ruleId);
        break;
      case 'rename': {
        const rule = this.#rules.get(message.ruleId);
        if (rule) rule.script = { ...rule.script, slug: message.slug };
        break;
      }
      case 'site':
        this.#setSite(message.site);
        break;
      case 'answer':
        this.#answer(message.id, message.ok ? { ok: true, result: message.result } : message);
        break;
      case 'changed': {
        const { type, run, watchId, value, timestampMs } = message;
        this.#ruleOfRun.get(run)?.thread?.post({ type, run, watchId, value, timestampMs });
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
    const rule: Rule = {
      script,
      generation,
      run: 0,
      thread: undefined,
      startedMs: 0,
      pauseMs: 0,
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
    this.#usage.delete(ruleId);
    this.#say(rule, 'info', 'rule stopped');
    this.#tellState(rule, 'STOPPED');
  }

  #setSite(site: SandboxSite): void {
    const isSameZone = site.timeZone === this.#site.timeZone;
    this.#site = site;
    this.#threads.broadcast({ type: 'site', site });
    if (isSameZone) return;
    for (const rule of this.#rules.values())
      if (rule.script.runtimeVersion === 'V3' && rule.thread) {
        this.#end(rule);
        this.#launch(rule);
      }
  }

  #launch(rule: Rule): void {
    rule.restart = undefined;
    rule.run = ++this.#lastRun;
    rule.startedMs = this.#options.clock.monotonicMs();
    rule.thread = this.#threads.place(rule.isSolitary);
    rule.thread.runs.add(rule.run);
    this.#ruleOfRun.set(rule.run, rule);
    this.#say(rule, 'info', 'rule started');
    this.#tellState(rule, 'STARTED');
    rule.thread.post({ type: 'start', rule: rule.script, run: rule.run });
  }

  /** Ends its run, if there is one, and its wait for the next. */
  #end(rule: Rule): void {
    rule.restart?.cancel();
    rule.restart = undefined;
    const { run, thread, generation, script } = rule;
    if (thread) {
      this.#leaving.set(run, { ruleId: script.id, generation, thread });
      thread.post({ type: 'stop', run });
    }
    this.#forgetRun(rule);
  }

  #forgetRun(rule: Rule): void {
    const { run, thread } = rule;
    if (!thread) return;
    thread.runs.delete(run);
    this.#ruleOfRun.delete(run);
    for (const [id, question] of this.#questions) if (question.run === run) this.#questions.delete(id);
    rule.thread = undefined;
    this.#options.send({ type: 'run_ended', ruleId: rule.script.id, run });
  }

  #heard(thread: RuleThread, message: FromThread): void {
    if (message.type === 'usage') {
      for (const usage of message.usage) this.#usage.set(usage.ruleId, usage);
      return;
    }
    if (message.type === 'fault') {
      this.#options.log.error('a function of the rule API failed', {
        rule_id: message.ruleId,
        fault: message.text,
      });
      return;
    }
    if (message.type === 'stopped') {
      this.#leaving.delete(message.run);
      return;
    }
    const rule = this.#ruleOfRun.get(message.run);
    if (message.type === 'log') {
      const from = rule
        ? { ruleId: rule.script.id, generation: rule.generation }
        : this.#leaving.get(message.run);
      if (!from) return;
      const { ruleId, generation } = from;
      this.#options.send({ type: 'log', ruleId, generation, entries: message.entries });
      return;
    }
    if (!rule) return;
    if (message.type === 'request')
      this.#ask(rule, { thread, run: message.run, id: message.id }, message.question);
    else if (message.type === 'ended') this.#runEnded(rule, message.how);
  }

  #ask(rule: Rule, from: { thread: RuleThread; run: number; id: number }, question: RuleQuestion): void {
    const id = ++this.#lastQuestion;
    this.#questions.set(id, from);
    const ruleId = rule.script.id;
    if (!this.#options.send({ type: 'request', id, ruleId, run: from.run, ...question }))
      this.#answer(id, { ok: false, error: 'the gateway is too busy' });
  }

  #answer(id: number, answer: RuleAnswer): void {
    const question = this.#questions.get(id);
    if (!question) return;
    this.#questions.delete(id);
    question.thread.post({ type: 'answer', id: question.id, answer });
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
    rule.pauseMs = restartPauseMs(rule.pauseMs, clock.monotonicMs() - rule.startedMs, limits.rules);
    this.#say(rule, 'info', `rule restarts in ${rule.pauseMs / 1_000} s`);
    this.#tellState(rule, 'STOPPED');
    rule.restart = clock.setTimer(rule.pauseMs, () => this.#launch(rule));
  }

  #threadEnded(thread: RuleThread, { culprit, reason }: ThreadEnd): void {
    this.#threadsEnded++;
    for (const [run, leaving] of this.#leaving) if (leaving.thread === thread) this.#leaving.delete(run);
    const rules = [...thread.runs].flatMap((run) => this.#ruleOfRun.get(run) ?? []);
    const guilty = rules.find(({ run }) => run === culprit);
    this.#options.log.warn('a thread of rules ended', {
      reason,
      rule_id: guilty?.script.id,
      rules: rules.length,
    });
    for (const rule of rules) this.#forgetRun(rule);
    for (const rule of rules)
      if (rule === guilty) {
        rule.isSolitary = true;
        this.#say(rule, 'error', `execution time exceeded: ${reason}, the rule was ended`);
        this.#restartLater(rule);
      } else {
        const because = guilty ? `rule ${guilty.script.slug} was ${reason}` : reason;
        this.#say(rule, 'warning', `rule starts again, because its thread was ended: ${because}`);
        this.#launch(rule);
      }
  }

  #say(rule: Rule, severity: RuleSeverity, message: string): void {
    const { id } = rule.script;
    const entries = [{ timestampMs: this.#options.clock.wallMs(), severity, message }];
    this.#options.send({ type: 'log', ruleId: id, generation: rule.generation, entries });
  }

  #tellState(rule: Rule, state: RuleState): void {
    this.#options.send({ type: 'state', ruleId: rule.script.id, generation: rule.generation, state });
  }

  #tellStatus(): void {
    const rules = [...this.#usage.values()].filter(({ ruleId }) => this.#rules.has(ruleId));
    const { count } = this.#threads;
    this.#options.send({ type: 'status', rules, threads: count, threadsEnded: this.#threadsEnded });
    this.#threads.broadcast({ type: 'usage' });
  }
}
