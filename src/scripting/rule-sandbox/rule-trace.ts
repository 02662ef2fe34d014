/**
 * The last runs of a rule with what they saw and did, in the memory of the thread that runs it: nothing is sent before somebody
 * looks, or before the rule ends.
 */
import { createHash } from 'node:crypto';
import type { CallObserver, HostResult, LuaFailure, LuaTurn, ScriptClock } from '#scripting/lua';
import { LuaData } from '#scripting/lua';
import { withoutSecrets } from '../../lib/redaction.ts';
import { exactJson } from '../../lib/json.ts';
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { RuleAnswer, RuleRequest } from '../../protocol/rule-sandbox.ts';
import type { RunCause, RunStep, TracedRun } from '../../protocol/rule-trace.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import { roomFor } from './read-ahead.ts';

interface Run extends TracedRun {
  number: number;
  startedMs: MonotonicMs;
  /** About the characters of its steps. */
  length: number;
  /** The function that ran. */
  job: string;
}

/** A step without its times. */
type Step = Omit<RunStep, 'atMs' | 'durationMs'>;

interface RuleTraceOptions {
  clock: Pick<ScriptClock, 'wallMs' | 'monotonicMs'>;
  limits: Limits['rules']['trace'];
  /** Traces every run; when off only runs by hand are traced. */
  isOn: boolean;
  mainCause: RunCause;
}

/** Length of a step beside its texts and values. */
const STEP_LENGTH = 100;
const ACTIONS: readonly RunStep['kind'][] = ['command', 'output', 'release', 'notify', 'http'];
const ENTRIES = ['chunk', 'main', 'job'];

export class RuleTrace implements CallObserver {
  isOn: boolean;
  /** Why the main part runs. */
  mainCause: RunCause;
  readonly #options: RuleTraceOptions;
  readonly #open = new Map<LuaTurn, Run>();
  /** Runs that did something else than the run of the same function before, which are few, and the others; oldest first. */
  readonly #changes: Run[] = [];
  readonly #others: Run[] = [];
  readonly #lastActions = new Map<string, string>();
  readonly #watched = new Map<bigint, { deviceId: string; name?: string }>();
  #lastNumber = 0;
  #isByHand = false;

  constructor(options: RuleTraceOptions) {
    this.#options = options;
    this.isOn = options.isOn;
    this.mainCause = options.mainCause;
  }

  begun(task: LuaTurn, entry: string, values: HostResult): void {
    if (!ENTRIES.includes(entry)) return;
    const [id, value] = values;
    const isOfEvent = entry === 'job' && value instanceof LuaData;
    const cause = entry === 'job' ? (isOfEvent ? 'event' : 'schedule') : this.mainCause;
    if (!this.isOn && cause !== 'run_now' && !this.#isByHand) return;
    const { clock } = this.#options;
    const run: Run = {
      cause: this.#isByHand ? 'run_now' : cause,
      startedAtMs: clock.wallMs(),
      steps: [],
      leftOut: 0,
      number: ++this.#lastNumber,
      startedMs: clock.monotonicMs(),
      length: 0,
      job: typeof id === 'bigint' && entry === 'job' ? id.toString() : entry,
    };
    this.#open.set(task, run);
    const watched = isOfEvent && this.#watched.get(id as bigint);
    if (watched)
      this.#add(run, { kind: 'event', ...watched, result: value.value as JsonValue }, clock.monotonicMs());
  }

  ended(task: LuaTurn, failure: LuaFailure | undefined): void {
    const run = this.#open.get(task);
    if (!run) return;
    this.#open.delete(task);
    // Few scripts have one.
    if (run.job === 'main' && run.steps.length === 0 && !failure) return;
    run.durationMs = Math.round(this.#options.clock.monotonicMs() - run.startedMs);
    if (failure) run.error = failure.message.slice(0, this.#options.limits.valueLength);
    (this.#isChange(run) ? this.#changes : this.#others).push(run);
    this.#makeRoom();
  }

  /** Runs are numbered in the order of their begin. */
  get lastNumber(): number {
    return this.#lastNumber;
  }

  /** Runs that are begun by the work are by hand. */
  byHand(work: () => void): void {
    this.#isByHand = true;
    work();
    this.#isByHand = false;
  }

  /** Those by hand with a higher number, newest first. */
  runsByHand(above: number): TracedRun[] {
    return this.#all()
      .filter(({ number, cause }) => number > above && cause === 'run_now')
      .map(shown);
  }

  /** A job of events: what it is called with. */
  watched(id: bigint, deviceId: string, name: string | undefined): void {
    if (this.#watched.size >= this.#options.limits.watches) this.#watched.clear();
    this.#watched.set(id, { deviceId, ...(name !== undefined && { name }) });
  }

  /** Undefined when the task is not traced; else the answer is to be handed in. */
  asks(turn: LuaTurn | undefined, request: () => RuleRequest): ((answer: RuleAnswer) => void) | undefined {
    const run = turn && this.#open.get(turn);
    if (!run) return undefined;
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    return (answer) => {
      const step = stepOf(request(), answer);
      if (step) this.#add(run, step, startedMs);
    };
  }

  http(
    turn: LuaTurn | undefined,
    { method, url }: { method: string; url: string },
    answer: { code: number } | string,
    durationMs: number,
  ): void {
    const run = turn && this.#open.get(turn);
    if (!run) return;
    const target = withoutSecrets(url).split(/[?#]/)[0] ?? '';
    const outcome = typeof answer === 'string' ? { error: answer } : { result: answer.code };
    const step: Step = { kind: 'http', name: method, arguments: { url: target }, ...outcome };
    this.#add(run, step, this.#options.clock.monotonicMs() - durationMs);
  }

  /** Newest first, those that go on included. */
  runs(): TracedRun[] {
    return this.#all().map(shown);
  }

  #all(): Run[] {
    return [...this.#open.values(), ...this.#changes, ...this.#others].toSorted(
      (one, other) => other.number - one.number,
    );
  }

  #add(run: Run, step: Step, startedMs: MonotonicMs): void {
    const { clock, limits } = this.#options;
    const durationMs = Math.round(clock.monotonicMs() - startedMs);
    const kept = this.#bounded(step, { atMs: clock.wallMs() - durationMs, durationMs });
    run.steps.push(kept);
    run.length += lengthOf(kept, limits.valueLength);
    while (run.steps.length > limits.steps || (run.length > limits.runLength && run.steps.length > 1)) {
      const [oldest] = run.steps;
      if (oldest) run.length -= lengthOf(oldest, limits.valueLength);
      run.steps.shift();
      run.leftOut++;
    }
  }

  #bounded({ name, error, ...step }: Step, times: { atMs: EpochMs; durationMs: number }): RunStep {
    const { valueLength } = this.#options.limits;
    const kept: RunStep = { ...times, ...step };
    const cut = (text: string): string => {
      if (text.length > valueLength) kept.isCut = true;
      return text.slice(0, valueLength).toWellFormed();
    };
    if (name !== undefined) kept.name = cut(name);
    if (error !== undefined) kept.error = cut(error);
    for (const part of ['arguments', 'result'] as const) {
      const value = kept[part];
      if (typeof value === 'string') kept[part] = cut(value);
      else if (roomFor(value, valueLength) < 0) {
        delete kept[part];
        kept.isCut = true;
      }
    }
    return kept;
  }

  /** A run that failed or acted differently is more telling than one that changed nothing. */
  #isChange(run: Run): boolean {
    if (run.cause === 'run_now') return true;
    const actions = run.steps
      .filter(({ kind }) => ACTIONS.includes(kind))
      .map(({ kind, deviceId, name, arguments: given, error }) => ({ kind, deviceId, name, given, error }));
    const isActing = actions.length > 0 || run.error !== undefined;
    const text = isActing
      ? createHash('sha1')
          .update(exactJson([actions, run.error ?? null]))
          .digest('base64')
      : '';
    const before = this.#lastActions.get(run.job) ?? '';
    if (this.#lastActions.size >= this.#options.limits.watches) this.#lastActions.clear();
    this.#lastActions.set(run.job, text);
    return text !== '' && text !== before;
  }

  #makeRoom(): void {
    const { changes, others, length } = this.#options.limits;
    if (this.#changes.length > changes) this.#changes.shift();
    if (this.#others.length > others) this.#others.shift();
    let sum = 0;
    for (const run of this.#changes) sum += run.length;
    for (const run of this.#others) sum += run.length;
    while (sum > length) sum -= (this.#others.shift() ?? this.#changes.shift())?.length ?? sum;
  }
}

function shown({ cause, startedAtMs, durationMs, steps, leftOut, error }: Run): TracedRun {
  const end = durationMs === undefined ? {} : { durationMs };
  return { cause, startedAtMs, ...end, steps: [...steps], leftOut, ...(error !== undefined && { error }) };
}

function lengthOf({ name = '', error = '', arguments: given, result }: RunStep, most: number): number {
  const used = [given, result].reduce<number>((sum, value) => sum + most - roomFor(value, most), 0);
  return STEP_LENGTH + name.length + error.length + used;
}

/** Undefined for a request that does not explain why the rule acts. */
function stepOf({ method, parameters }: RuleRequest, answer: RuleAnswer): Step | undefined {
  const outcome = answer.ok ? { result: answer.result } : { error: answer.error };
  const failed = answer.ok ? {} : { error: answer.error };
  switch (method) {
    case 'latest': {
      const { deviceId, name } = parameters;
      const seen = answer.ok ? { result: (answer.result as { value: JsonValue }).value } : failed;
      return { kind: 'telemetry', deviceId, name, ...seen };
    }
    case 'aggregate': {
      const { deviceId, name, kind, windowMs } = parameters;
      return { kind: 'aggregate', deviceId, name, arguments: { kind, window_ms: windowMs }, ...outcome };
    }
    case 'property':
      return { kind: 'property', deviceId: parameters.deviceId, name: parameters.name, ...outcome };
    case 'device_online':
      return { kind: 'online', deviceId: parameters.deviceId, ...outcome };
    case 'find_device':
      return answer.ok ? undefined : { kind: 'device', name: parameters.idOrSlug, ...failed };
    case 'execute':
    case 'output_request': {
      const { deviceId, name, arguments: given } = parameters;
      const kind = method === 'execute' ? 'command' : 'output';
      return { kind, deviceId, name, ...(given && { arguments: given as JsonValue }), ...outcome };
    }
    case 'output_release':
      return { kind: 'release', deviceId: parameters.deviceId, name: parameters.name, ...failed };
    case 'notify':
      return { kind: 'notify', name: parameters.title, ...failed };
    case 'storage_read':
      return { kind: 'storage_read', name: parameters.key, ...outcome };
    case 'storage_write':
      return {
        kind: 'storage_write',
        name: parameters.key,
        arguments: { value: parameters.value },
        ...failed,
      };
    case 'storage_remove':
      return { kind: 'storage_remove', name: parameters.key, ...failed };
    default:
      return undefined;
  }
}
