/**
 * One life of a rule's script, from its start until it is stopped or ends by itself: runtime V3, one Lua state
 * that lives on with its jobs, and runtime V1, a fresh state every interval (docs/interface/lua-rules.md).
 */
import { Buffer } from 'node:buffer';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { type HostFunction, LuaData, type LuaFailure, type Script, type Scripts } from '#scripting/lua';
import type { Clock } from '../../platform/clock/index.ts';
import type { RuleAnswer, RuleRequest, RuleScript, SandboxSite } from '../../protocol/rule-sandbox.ts';
import { CALENDAR_LIBRARY, createCalendar } from './libraries/calendar-library.ts';
import { createRuleFunctions } from './libraries/rule-functions.ts';
import { RULE_LIBRARY } from './libraries/rule-library.ts';
import { HTTP_LIBRARY, httpFunctions } from '#scripting/http';
import { createGatewayRequests } from './requests.ts';
import type { RuleLog } from './rule-log.ts';
import { RuleTrace } from './rule-trace.ts';
import type { Change, RunEnd } from './thread-messages.ts';

interface RunOptions {
  rule: RuleScript;
  scripts: Pick<Scripts, 'create' | 'timers'>;
  clock: Clock;
  site: () => SandboxSite;
  limits: Pick<Limits, 'lua' | 'rules'>;
  log: RuleLog;
  send: (request: RuleRequest, answered: (answer: RuleAnswer) => void) => void;
  /** Replacements for functions that use the network. */
  httpFunctions?: Readonly<Record<string, HostFunction>>;
  /** Default: nothing is traced. */
  trace?: RuleTrace;
  /** The main part has ended or failed. */
  onMainOver?: () => void;
  /** Called once, unless the run was stopped. */
  onEnded: (how: RunEnd) => void;
  onFault: (text: string) => void;
}

export interface Run {
  start(): void;
  stop(): void;
  changed(change: Change): void;
  /** Runs its functions once, whatever their schedule; `begin` begins each of them. */
  runNow(begin: (work: () => void) => void): RunNow;
  /** Memory of its Lua state, and processor time so far. */
  usage(): { memoryBytes: number; processorMs: DurationMs };
}

/** Outcome of running now: it runs already, has no function to run, or runs until the promise resolves. */
type RunNow = 'running' | 'nothing' | Promise<void>;

const FILE = 'main.lua';

export function createRun(options: RunOptions): Run {
  return options.rule.runtimeVersion === 'V1' ? new RepeatedRun(options) : new LivingRun(options);
}

/** A Lua state with the libraries of rules. */
type Life = ReturnType<typeof createLife>;

function createLife(
  options: RunOptions,
  told: { onJobFailure: (failure: LuaFailure) => void; onSettled: () => void },
) {
  const { rule, scripts, clock, site, limits, log } = options;
  const requests = createGatewayRequests({ clock, limits: limits.rules, send: options.send });
  const { trace = new RuleTrace({ clock, limits: limits.rules.trace, isOn: false, mainCause: 'start' }) } =
    options;
  const calendar = createCalendar({ clock, site, jobs: () => script.jobs, limits: limits.rules });
  const script: Script = scripts.create({
    kind: 'rule',
    memoryBytes: limits.rules.memoryBytes,
    libraries: [HTTP_LIBRARY, CALENDAR_LIBRARY, RULE_LIBRARY],
    functions: {
      ...calendar.functions,
      ...httpFunctions({
        clock,
        limits: limits.lua,
        onExchange: (request, answer, { durationMs }, turn) => trace.http(turn, request, answer, durationMs),
      }),
      ...options.httpFunctions,
      ...createRuleFunctions({
        clock,
        site,
        limits: limits.rules,
        log,
        requests,
        trace,
        jobs: () => script.jobs,
      }),
    },
    modules: () => undefined,
    print: (text) => log.write('debug', text),
    warn: (text) => log.write('warning', text),
    overlaps: true,
    timeZone: () => site().timeZone,
    ...told,
    onPaused: (durationMs) => log.pause(durationMs),
    observer: trace,
    onFault: (name, error) =>
      options.onFault(`${name}: ${error instanceof Error ? error.stack : String(error)}`),
  });
  return {
    script,
    requests,
    /** Runs the script and its `enapter.main`. @throws LuaFailure */
    run: async (timeoutMs?: DurationMs) => {
      await script.machine.call('prepare', [rule.runtimeVersion, rule.id]);
      await script.run(Buffer.from(rule.code), FILE, timeoutMs);
      if (rule.runtimeVersion === 'V3') await script.machine.call('main');
    },
    close: () => {
      requests.stop();
      calendar.stop();
      script.close();
    },
  };
}

/** Runtime V3. */
class LivingRun implements Run {
  readonly #options: RunOptions;
  readonly #life: Life;
  #isMainOver = false;
  #isOver = false;

  constructor(options: RunOptions) {
    this.#options = options;
    this.#life = createLife(options, {
      onJobFailure: (failure) => this.#jobFailed(failure),
      onSettled: () => this.#settle(),
    });
  }

  start(): void {
    this.#life.run().then(
      () => {
        this.#isMainOver = true;
        this.#options.onMainOver?.();
        this.#settle();
      },
      (failure: LuaFailure) => {
        if (this.#isOver) return;
        this.#options.log.failure(failure);
        this.#options.onMainOver?.();
        this.#end(failure.reason === 'syntax' ? 'broken' : 'failed');
      },
    );
  }

  stop(): void {
    this.#isOver = true;
    this.#life.close();
  }

  changed({ watchId, value, timestampMs }: Change): void {
    const values = [new LuaData(value), new LuaData(timestampMs / 1_000)];
    this.#life.script.jobs.tell(BigInt(watchId), values);
  }

  runNow(begin: (work: () => void) => void): RunNow {
    return this.#isMainOver ? this.#life.script.jobs.runAll(begin) : 'running';
  }

  usage(): ReturnType<Run['usage']> {
    const { sizeBytes, processorMs } = this.#life.script;
    return { memoryBytes: sizeBytes, processorMs: Math.round(processorMs) };
  }

  #jobFailed(failure: LuaFailure): void {
    if (this.#isOver) return;
    this.#options.log.repeatedFailure(failure);
    // A state without memory, or a broken one, is of no further use.
    if (failure.reason === 'memory' || this.#life.script.machine.failure) this.#end('failed');
  }

  #settle(): void {
    const { jobs, machine } = this.#life.script;
    if (this.#isMainOver && !this.#isOver && jobs.count === 0 && machine.openCalls === 0)
      this.#end('finished');
  }

  #end(how: RunEnd): void {
    if (this.#isOver) return;
    this.stop();
    this.#options.onEnded(how);
  }
}

/** Runtime V1. */
class RepeatedRun implements Run {
  readonly #options: RunOptions;
  #life: Life | undefined;
  #isRunning = false;
  #timer: { cancel(): void } | undefined;
  #dueMs: MonotonicMs = 0;
  #endedProcessorMs: DurationMs = 0;

  constructor(options: RunOptions) {
    this.#options = options;
  }

  start(): void {
    this.#dueMs = this.#options.clock.monotonicMs();
    this.#tick();
  }

  stop(): void {
    this.#timer?.cancel();
    this.#closeLife();
  }

  changed(): void {
    // This runtime watches nothing.
  }

  runNow(): RunNow {
    if (this.#isRunning) return 'running';
    const { trace } = this.#options;
    const cause = trace?.mainCause;
    if (trace) trace.mainCause = 'run_now';
    return this.#runOnce().then(() => {
      if (trace && cause) trace.mainCause = cause;
    });
  }

  usage(): ReturnType<Run['usage']> {
    const { sizeBytes, processorMs } = this.#life?.script ?? { sizeBytes: 0, processorMs: 0 };
    return { memoryBytes: sizeBytes, processorMs: Math.round(this.#endedProcessorMs + processorMs) };
  }

  #tick(): void {
    const { clock, rule, limits, scripts } = this.#options;
    const intervalMs = Math.max(rule.execIntervalMs, limits.rules.execIntervalMinMs);
    const lateMs = Math.max(0, clock.monotonicMs() - this.#dueMs);
    this.#dueMs += intervalMs * (1 + Math.floor(lateMs / intervalMs));
    this.#timer = scripts.timers.set(this.#dueMs, intervalMs, () => this.#tick());
    // This run is skipped while the last one still goes on.
    if (!this.#isRunning) void this.#runOnce();
  }

  async #runOnce(): Promise<void> {
    if (!this.#life?.script.reset()) {
      this.#closeLife();
      this.#life = createLife(this.#options, { onJobFailure: () => undefined, onSettled: () => undefined });
    }
    const life = this.#life;
    this.#isRunning = true;
    try {
      await life.run(this.#options.limits.lua.callMs);
    } catch (error) {
      if (this.#life !== life) return;
      const failure = error as LuaFailure;
      this.#options.log.repeatedFailure(failure);
      if (failure.reason === 'syntax') {
        this.stop();
        this.#options.onEnded('broken');
      }
    } finally {
      if (this.#life === life) this.#isRunning = false;
    }
  }

  #closeLife(): void {
    const life = this.#life;
    if (!life) return;
    this.#life = undefined;
    this.#endedProcessorMs += life.script.processorMs;
    life.close();
  }
}
