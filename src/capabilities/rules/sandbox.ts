import { conflict, unavailable, unprocessable } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Instruments, Metrics } from '../../platform/metrics/index.ts';
import type { Program, ProgramOptions } from '../../platform/processes/index.ts';
import {
  decodeFromSandbox,
  type FromSandbox,
  RULE_SANDBOX_PROGRAM,
  type RuleAnswer,
  type RuleMethods,
  type RuleState,
  type SandboxSettings,
  type SandboxSite,
  type ToSandbox,
} from '../../protocol/rule-sandbox.ts';
import type { TracedRun } from '../../protocol/rule-trace.ts';
import type { Devices } from '../devices/index.ts';
import type { Outputs } from '../outputs/index.ts';
import type { Site } from '../site/index.ts';
import type { Telemetry } from '../telemetry/index.ts';
import { DryRuns } from './dry-runs.ts';
import { createSandboxChannel, type SandboxChannel } from './channel.ts';
import {
  forSandbox,
  isTraced,
  NOT_RUNNING,
  type RuleRunner,
  type RunnableRule,
  type ScriptCondition,
} from './model.ts';
import type { CallRecordedMethod } from './recorded-methods.ts';
import type { CallMethod } from './methods.ts';
import { RunQuestions } from './traced-runs.ts';
import type { Rules } from './service.ts';
import { Watches } from './watches.ts';

/** The part of `Program` that is used. */
type SandboxProgram = Pick<Program, 'start' | 'release' | 'stop' | 'send' | 'drained' | 'state'>;

/** Dependencies of the sandbox. */
export interface RuleSandboxOptions extends Instruments {
  processes: { program(options: ProgramOptions): SandboxProgram };
  entry: string;
  /** Settings of the program's own service log. */
  logSettings: SandboxSettings['log'];
  site: Pick<Site, 'get' | 'events'>;
  devices: Devices;
  telemetry: Telemetry;
  /** Keeps what rules hold while they run. */
  outputs: Pick<Outputs, 'ruleStopped' | 'ruleEnded'>;
  callMethod: CallMethod;
  /** Answers requests of dry runs. */
  callRecordedMethod: CallRecordedMethod;
  appendLog: Rules['logs']['append'];
  keepRuns: Rules['keepRuns'];
  /** The program ended unasked. */
  onEnded: () => void;
}

interface Wanted {
  rule: RunnableRule;
  generation: number;
  state: RuleState;
  /** Moment of the next start after a failure; undefined otherwise. */
  restartsAtMs: EpochMs | undefined;
  /** The sandbox has reported a state of this generation: later requests of the rule come from it. */
  isStartDone: boolean;
  /** Resolves with the first report, or when another start takes its place. */
  startDone: PromiseWithResolvers<void>;
}

/** State of a rule whose start the sandbox has not reported yet. */
const NOT_STARTED = { state: 'STOPPED', restartsAtMs: undefined, isStartDone: false } as const;

type Request = FromSandbox & { type: 'request' };
type Status = FromSandbox & { type: 'status' };

/**
 * The gateway's side of the rule sandbox: which rules should run, which run, and answers to requests of scripts.
 * The sandbox is another program, which runs while there is a rule or a dry run to execute. When it crashes, it is started
 * again and gets everything anew.
 */
export class RuleSandbox {
  readonly #options: RuleSandboxOptions;
  readonly #log: Log;
  readonly #wanted = new Map<string, Wanted>();
  readonly #watches: Watches;
  readonly #program: SandboxProgram;
  readonly #channel: SandboxChannel;
  readonly #dryRuns: DryRuns;
  readonly #questions: RunQuestions;
  readonly #stopListening: () => void;
  #generation = 0;
  /** Counts starts of the program: each numbers its requests anew. */
  #life = 0;
  #status: Status | undefined;

  constructor(options: RuleSandboxOptions) {
    this.#options = options;
    this.#log = options.log.child({ component: 'rules' });
    this.#watches = new Watches({ ...options, send: (message) => this.#channel.offer(message) });
    this.#program = options.processes.program({
      name: 'rule-sandbox',
      entry: options.entry,
      ...RULE_SANDBOX_PROGRAM,
      settings: (): SandboxSettings => ({ site: this.#site(), log: options.logSettings }),
      onRunning: () => this.#sendAll(),
      onPayload: (payload) => this.#receive(payload),
      onEnded: ({ wasAsked }) => this.#ended(wasAsked),
    });
    this.#channel = createSandboxChannel({
      program: () => this.#program,
      messageBytes: LIMITS.processes.messageBytes,
      onTooLarge: (message) => this.#tooLarge(message),
      onRoom: () => this.#watches.flush(),
    });
    this.#dryRuns = new DryRuns({
      clock: options.clock,
      log: this.#log,
      limits: LIMITS.rules,
      startMs: LIMITS.processes.helloMs,
      isRunning: () => this.#program.state === 'running',
      onDemand: () => this.#demand(),
      send: (message) => this.#channel.send(message),
      callMethod: options.callRecordedMethod,
    });
    this.#questions = new RunQuestions({
      clock: options.clock,
      send: (message) => this.#channel.send(message),
      keep: options.keepRuns,
    });
    this.#stopListening = options.site.events.on('site_updated', 'rules', () =>
      this.#channel.send({ type: 'site', site: this.#site() }),
    );
    this.#measure(options.metrics);
  }

  #measure(metrics: Metrics): void {
    const rules = (): Status['rules'] => this.#status?.rules ?? [];
    metrics.measured(
      'rules_started',
      'Rules whose script runs now.',
      () => [...this.#wanted.values()].filter(({ state }) => state === 'STARTED').length,
    );
    metrics.measured('rule_memory_bytes', 'Memory of the scripts of all rules, a minute old at most.', () =>
      rules().reduce((sum, { memoryBytes }) => sum + memoryBytes, 0),
    );
    metrics.measured(
      'rule_threads_ended',
      'Threads ended because of a rule, since the sandbox started.',
      () => this.#status?.threadsEnded ?? 0,
    );
  }

  async stop(): Promise<void> {
    this.#stopListening();
    this.#watches.stop();
    this.#wanted.clear();
    await this.#program.stop();
  }

  run(rule: RunnableRule): void {
    const generation = ++this.#generation;
    const startDone = Promise.withResolvers<void>();
    const wanted: Wanted = { rule, generation, startDone, ...NOT_STARTED };
    this.#wanted.get(rule.id)?.startDone.resolve();
    this.#wanted.set(rule.id, wanted);
    this.#demand();
    this.#sendStart(wanted);
  }

  end(ruleId: string): void {
    this.#wanted.get(ruleId)?.startDone.resolve();
    if (!this.#wanted.delete(ruleId)) return;
    this.#options.outputs.ruleStopped(ruleId);
    this.#channel.send({ type: 'stop', ruleId });
    this.#demand();
  }

  update(rule: RunnableRule): void {
    const { id, slug } = rule;
    const wanted = this.#wanted.get(id);
    if (!wanted) return;
    wanted.rule = rule;
    this.#channel.send({ type: 'update', ruleId: id, slug, isTraced: isTraced(rule) });
  }

  async runs(ruleId: string): Promise<readonly TracedRun[]> {
    if (!this.#canAnswer(ruleId)) return [];
    const report = await this.#questions.ask('trace', ruleId, LIMITS.rules.trace.answerMs);
    return report?.runs ?? [];
  }

  async runNow(ruleId: string): Promise<readonly TracedRun[]> {
    if (!this.#canAnswer(ruleId)) throw unavailable('The rule sandbox is starting.');
    const { byHandMs } = LIMITS.rules.trace;
    const startedMs = this.#options.clock.wallMs();
    const report = await this.#questions.ask('run_now', ruleId, byHandMs);
    if (report?.refusal === 'running')
      throw conflict('rule_running', 'The rule is running already; try again when it has ended.');
    if (report?.refusal)
      throw unprocessable(
        'rule_without_functions',
        'The rule has nothing to run: it waits for events that have not come yet.',
      );
    // A run that takes longer, such as a main loop, is shown as far as it has come.
    return report?.runs ?? (await this.runs(ruleId)).filter(({ startedAtMs }) => startedAtMs >= startedMs);
  }

  #canAnswer(ruleId: string): boolean {
    return this.#wanted.has(ruleId) && this.#program.state === 'running';
  }

  condition(ruleId: string): ScriptCondition {
    const wanted = this.#wanted.get(ruleId);
    if (!wanted) return NOT_RUNNING;
    const { state, isStartDone, restartsAtMs } = wanted;
    return { isStarted: state === 'STARTED', isStarting: !isStartDone, restartsAtMs };
  }

  async startDone(ruleId: string): Promise<void> {
    await this.#wanted.get(ruleId)?.startDone.promise;
  }

  dryRun(...request: Parameters<RuleRunner['dryRun']>): ReturnType<RuleRunner['dryRun']> {
    return this.#dryRuns.run(...request);
  }

  /** The program runs while there is something to execute, and some time longer. */
  #demand(): void {
    if (this.#wanted.size > 0 || this.#dryRuns.isActive) this.#program.start();
    else this.#program.release();
  }

  #site(): SandboxSite {
    const { timezone, location } = this.#options.site.get();
    const { latitude, longitude } = location ?? {};
    return {
      timeZone: timezone,
      ...(latitude !== undefined && longitude !== undefined && { location: { latitude, longitude } }),
    };
  }

  /** Tells a new sandbox the present site, which may have changed during its start, and all rules. */
  #sendAll(): void {
    this.#channel.send({ type: 'site', site: this.#site() });
    for (const wanted of this.#wanted.values()) this.#sendStart(wanted);
    this.#dryRuns.sandboxRuns();
  }

  #sendStart({ rule, generation }: Wanted): void {
    this.#channel.send({ type: 'start', generation, rule: forSandbox(rule) });
  }

  #tooLarge(message: ToSandbox): void {
    if (message.type === 'answer')
      this.#channel.send({ type: 'answer', id: message.id, ok: false, error: 'the answer is too large' });
    else if (message.type === 'start')
      this.#options.appendLog(message.rule.id, 'error', 'the script is too large to be started');
    this.#log.warn('a message to the rule sandbox is too large', { type: message.type });
  }

  #ended(wasAsked: boolean): void {
    if (!wasAsked) this.#options.onEnded();
    this.#life++;
    this.#status = undefined;
    this.#channel.clear();
    this.#watches.clear();
    this.#dryRuns.sandboxEnded();
    this.#questions.sandboxEnded();
    for (const wanted of this.#wanted.values()) {
      if (wanted.state === 'STARTED')
        this.#options.appendLog(wanted.rule.id, 'error', 'the rule engine ended and is started again');
      Object.assign(wanted, NOT_STARTED);
      this.#options.outputs.ruleEnded(wanted.rule.id);
    }
  }

  #receive(payload: unknown): void {
    const message = decodeFromSandbox(payload as string);
    switch (message.type) {
      case 'state': {
        const wanted = this.#current(message);
        if (!wanted) return;
        wanted.state = message.state;
        wanted.restartsAtMs =
          message.restartsInMs === undefined
            ? undefined
            : this.#options.clock.wallMs() + message.restartsInMs;
        wanted.isStartDone = true;
        wanted.startDone.resolve();
        return;
      }
      case 'log':
        // The last entries of a script that has ended count, too.
        for (const { severity, message: text } of message.entries)
          this.#options.appendLog(message.ruleId, severity, text);
        return;
      case 'request':
        return void this.#answer(message);
      case 'run_ended':
        this.#options.outputs.ruleEnded(message.ruleId);
        return this.#watches.endRun(message.run);
      case 'runs':
        return this.#questions.receive(message);
      case 'dry_run_request':
      case 'dry_run_over':
        return this.#dryRuns.receive(message);
      case 'status':
        this.#status = message;
    }
  }

  #current({ ruleId, generation }: { ruleId: string; generation: number }): Wanted | undefined {
    const wanted = this.#wanted.get(ruleId);
    return wanted?.generation === generation ? wanted : undefined;
  }

  /** An answer goes only to the life of the sandbox that asked; the next one numbers its requests anew. */
  async #answer(request: Request): Promise<void> {
    const { id, ruleId } = request;
    const life = this.#life;
    try {
      const answer = await this.#answerOf(request);
      if (life === this.#life) this.#channel.send({ type: 'answer', id, ...answer });
    } catch (error) {
      this.#log.error('request of a rule failed', { rule_id: ruleId, method: request.method, error });
      if (life === this.#life)
        this.#channel.send({ type: 'answer', id, ok: false, error: 'the gateway failed to answer' });
    }
  }

  #answerOf(request: Request): Promise<RuleAnswer> | RuleAnswer {
    const wanted = this.#wanted.get(request.ruleId);
    // Requests that a script made before it was stopped or replaced are not executed.
    if (!wanted?.isStartDone) return { ok: false, error: 'the rule was stopped' };
    if (request.method === 'watch') return this.#watch(request, request.parameters);
    if (request.method !== 'unwatch') return this.#options.callMethod(wanted.rule, request);
    this.#watches.remove({ run: request.run, watchId: request.parameters.watchId });
    return { ok: true, result: null };
  }

  #watch({ run, ruleId }: Request, parameters: RuleMethods['watch']): RuleAnswer {
    const { deviceId, watchId } = parameters;
    const device = this.#options.devices.get(deviceId);
    if (!device) return { ok: false, error: 'device not found' };
    const name = parameters.kind === 'telemetry' ? parameters.name : undefined;
    if (!this.#watches.add({ run, watchId, ruleId, deviceId, name }, device))
      return { ok: false, error: `unknown telemetry attribute "${name}"` };
    return { ok: true, result: null };
  }
}
