/**
 * The tasks of one script. They run one after another; while one waits for the host, others may go on, unless
 * the script was promised that none overlap. A task that used up its slice goes on before any other, so that a
 * script never sees another one of its own tasks in the middle of a computation.
 */
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import { type LuaState, MEMORY_MESSAGE, TIME_MESSAGE } from './state.ts';
import { type FailureReason, type HostResult, LuaFailure, type LuaTurn, type Task } from './task.ts';
import { LuaError, type LuaValue } from './values.ts';
import { LuaAbort } from './wasm.ts';

/** The part of a clock that scripts need; it may be simulated. */
export interface ScriptClock {
  wallMs(): EpochMs;
  monotonicMs(): MonotonicMs;
  setTimer(durationMs: DurationMs, fn: () => void): { cancel(): void };
}

interface MachineOptions {
  state: LuaState;
  clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>;
  /** False: a task that waits keeps all others waiting. */
  overlaps: boolean;
  /** Called when `slice` has work again. */
  onReady: () => void;
  observer?: CallObserver | undefined;
}

/** Follows the calls of a script. */
export interface CallObserver {
  /** @param entry of the libraries */
  begun(task: LuaTurn, entry: string, values: HostResult): void;
  ended(task: LuaTurn, failure: LuaFailure | undefined): void;
}

interface Call {
  task: Task;
  resolve: (values: LuaValue[]) => void;
  reject: (failure: LuaFailure) => void;
  timeoutMs: DurationMs | undefined;
  /** Asked before the first slice; false: it does not begin. */
  isWanted: (() => boolean) | undefined;
  /** Runs from the first slice on: a call that waits for its turn has not begun. */
  timer: { cancel(): void } | undefined;
}

const LATE_MESSAGE = 'it has waited too long for what ran before it';

export class LuaMachine {
  readonly #options: MachineOptions;
  readonly #calls = new Set<Call>();
  readonly #ready: Call[] = [];
  /** Goes on before all others: it was preempted, or nothing may overlap it. */
  #current: Call | undefined;
  #closed: LuaFailure | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
  }

  /**
   * Runs an entry of the libraries as a task of its own. With `timeoutMs` it is given up this long after its begin,
   * waiting included. It does not begin if it is no longer wanted when its turn comes. @throws LuaFailure
   */
  call(
    entry: string,
    values: HostResult = [],
    timeoutMs?: DurationMs,
    isWanted?: () => boolean,
  ): Promise<LuaValue[]> {
    return new Promise((resolve, reject) => {
      if (this.#closed) {
        reject(this.#closed);
        return;
      }
      const task = this.#attempt(() => this.#options.state.start([entry, ...values]));
      if (!task) {
        reject(this.#closed ?? new LuaFailure('stopped', 'stopped'));
        return;
      }
      const call: Call = { task, resolve, reject, timeoutMs, isWanted, timer: undefined };
      this.#calls.add(call);
      this.#ready.push(call);
      this.#options.observer?.begun(task, entry, values);
      this.#options.onReady();
    });
  }

  /** True when `slice` has something to do. */
  get isReady(): boolean {
    if (this.#current) return this.#ready.includes(this.#current);
    return this.#ready.length > 0;
  }

  /** Why nothing runs any more. */
  get failure(): LuaFailure | undefined {
    return this.#closed;
  }

  /** Tasks that have not ended. */
  get openCalls(): number {
    return this.#calls.size;
  }

  /** Runs one task on, for a slice at most. */
  slice(): void {
    const call = this.#next();
    if (!call) return;
    if (call.isWanted?.() === false) return this.#end(call, new LuaFailure('time', LATE_MESSAGE));
    call.isWanted = undefined;
    call.timer ??= this.#timerOf(call);
    const outcome = this.#attempt(() => this.#options.state.resume(call.task));
    if (!outcome || !this.#calls.has(call)) return;
    switch (outcome.kind) {
      case 'done':
        this.#end(call, outcome.values);
        break;
      case 'failed':
        this.#end(call, outcome.failure);
        break;
      case 'preempted':
        this.#current = call;
        this.#ready.push(call);
        break;
      case 'waiting':
        this.#current = this.#options.overlaps ? undefined : call;
        this.#wait(call, outcome.promise);
    }
  }

  /** Gives up all tasks with `reason`, also for those who wait for them. No further task starts. */
  close(reason: FailureReason = 'stopped', message = 'stopped'): void {
    this.#closed ??= new LuaFailure(reason, message);
    for (const call of this.#calls) {
      call.timer?.cancel();
      this.#options.observer?.ended(call.task, this.#closed);
      call.reject(this.#closed);
    }
    this.#calls.clear();
    this.#ready.length = 0;
    this.#current = undefined;
  }

  #next(): Call | undefined {
    const index = this.#current ? this.#ready.indexOf(this.#current) : 0;
    return index < 0 ? undefined : this.#ready.splice(index, 1)[0];
  }

  #timerOf(call: Call): Call['timer'] {
    const { timeoutMs, task } = call;
    if (timeoutMs === undefined) return undefined;
    task.deadlineMs = this.#options.clock.monotonicMs() + timeoutMs;
    const text = `${TIME_MESSAGE}: not finished within ${timeoutMs / 1_000} s, waiting included`;
    return this.#options.clock.setTimer(timeoutMs, () => this.#end(call, new LuaFailure('time', text)));
  }

  #wait(call: Call, promise: Promise<HostResult | void>): void {
    const goOn = (inbox: HostResult | LuaError): void => {
      if (!this.#calls.has(call)) return;
      call.task.inbox = inbox;
      call.task.turnMs = 0;
      this.#ready.push(call);
      this.#options.onReady();
    };
    promise.then(
      (results) => goOn(results ?? []),
      (error: unknown) =>
        goOn(error instanceof LuaError ? error : new LuaError(`internal fault: ${String(error)}`)),
    );
  }

  #end(call: Call, outcome: LuaValue[] | LuaFailure): void {
    if (!this.#calls.delete(call)) return;
    call.timer?.cancel();
    const index = this.#ready.indexOf(call);
    if (index >= 0) this.#ready.splice(index, 1);
    if (this.#current === call) this.#current = undefined;
    this.#options.state.drop(call.task);
    const failure = outcome instanceof LuaFailure ? outcome : undefined;
    this.#options.observer?.ended(call.task, failure);
    if (outcome instanceof LuaFailure) call.reject(outcome);
    else call.resolve(outcome);
    if (this.isReady) this.#options.onReady();
  }

  /** A broken state ends its script and nothing else. */
  #attempt<Result>(run: () => Result): Result | undefined {
    try {
      return run();
    } catch (error) {
      // Outside of a protected call Lua knows no other way to say that memory ended.
      if (error instanceof LuaAbort) this.close('memory', MEMORY_MESSAGE);
      else this.close('error', `the script broke its machine: ${String(error)}`);
      return undefined;
    }
  }
}

// Timers of what comes again and again, in one thread: those that are due within a fiftieth of their period of each other
// fire at the same moment, so that they wake the thread, and ask the gateway, together. None fires early.

/** Distances of moments; each divides the larger ones, so that short periods share the moments of long ones. */
const GRIDS_MS = [20, 10, 5, 1] as const;

interface Timer {
  cancel(): void;
}

interface Moment {
  due: Set<() => void>;
  timer: Timer;
}

export class PeriodicTimers {
  readonly #clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>;
  readonly #slackPermille: number;
  readonly #moments = new Map<MonotonicMs, Moment>();

  /** `slackPermille`: so much of its period a timer may be late. */
  constructor(clock: Pick<ScriptClock, 'monotonicMs' | 'setTimer'>, slackPermille: number) {
    this.#clock = clock;
    this.#slackPermille = slackPermille;
  }

  /** Runs `fn` once at `dueMs` or, by the slack, later. */
  set(dueMs: MonotonicMs, periodMs: DurationMs, fn: () => void): Timer {
    const slackMs = (periodMs * this.#slackPermille) / 1_000;
    const gridMs = GRIDS_MS.find((distanceMs) => distanceMs <= slackMs);
    if (gridMs === undefined) return this.#clock.setTimer(dueMs - this.#clock.monotonicMs(), fn);
    const atMs = Math.ceil(dueMs / gridMs) * gridMs;
    const moment = this.#moments.get(atMs) ?? this.#begin(atMs);
    // Each is one of its own, also when it is the same function.
    const fire = (): void => fn();
    moment.due.add(fire);
    return {
      cancel: () => {
        if (!moment.due.delete(fire) || moment.due.size > 0) return;
        moment.timer.cancel();
        if (this.#moments.get(atMs) === moment) this.#moments.delete(atMs);
      },
    };
  }

  #begin(atMs: MonotonicMs): Moment {
    const due = new Set<() => void>();
    const timer = this.#clock.setTimer(Math.ceil(atMs - this.#clock.monotonicMs()), () => {
      this.#moments.delete(atMs);
      for (const fire of due) fire();
    });
    const moment = { due, timer };
    this.#moments.set(atMs, moment);
    return moment;
  }
}
