/**
 * `scheduler`: functions that run again and again, and those that other libraries run on an event. Lua keeps
 * the functions, the host their numbers, so that no reference to a Lua function is ever handed over.
 */
import type { Limits } from '../../../lib/limits.ts';
import type { DurationMs } from '../../../lib/time.ts';
import { LuaError, numberArgument } from '../values.ts';
import type { Library } from '../stack.ts';
import type { LuaFailure } from '../task.ts';
import type { LuaMachine, PeriodicTimers, ScriptClock } from '../machine.ts';
import type { HostFunction, HostResult } from '../task.ts';

export const SCHEDULER_LIBRARY: Library = {
  name: 'scheduler',
  source: String.raw`
local bodies = {}

-- Registers a function under the job that the host makes. To be called as the last thing of a library function:
-- the error is the caller's.
function kit.job(make, body, position, name, ...)
  kit.check(body, 'function', position, name)
  local id, message = make(...)
  if id then bodies[id] = body end
  return id, message
end

function kit.drop(id)
  if id ~= nil and bodies[id] then
    bodies[id] = nil
    host.job_remove(id)
  end
end

function kit.entries.job(id, ...)
  local body = bodies[id]
  if body then body(...) end
end

scheduler = {}

function scheduler.add(period, body)
  return kit.job(host.job_every, body, 2, 'add', period)
end

function scheduler.remove(id)
  if type(id) == 'number' then kit.drop(tointeger(id)) end
end
`,
};

interface Job {
  timer: { cancel(): void } | undefined;
  isRunning: boolean;
  /** Values of an event that came while the function still ran; only the newest are kept. */
  next: HostResult | undefined;
  onRemoved: (() => void) | undefined;
  /** The last result of events; null: it runs by a schedule. */
  last: HostResult | undefined | null;
}

interface JobsOptions {
  clock: ScriptClock;
  timers: PeriodicTimers;
  limits: Pick<Limits['lua'], 'jobs' | 'jobPeriodMs' | 'callMs'>;
  machine: () => LuaMachine;
  /** A call of a job failed; the job stays. */
  onFailure: (failure: LuaFailure) => void;
  /** A job, or a call of one, ended. */
  onSettled: () => void;
}

/** The jobs of one script. */
export class Jobs {
  readonly #options: JobsOptions;
  readonly #jobs = new Map<bigint, Job>();
  #lastId = 0n;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#jobs.size;
  }

  readonly functions: Readonly<Record<string, HostFunction>> = {
    job_every: ([period]) => [this.every(numberArgument(period, 1, 'add'))],
    job_remove: ([id]) => {
      if (typeof id === 'bigint') this.remove(id);
    },
  };

  /**
   * Runs the function every `periodMs` from now on, within the slack of `timers`. A moment at which the last run still
   * goes on is skipped and not made up for. @throws LuaError
   */
  every(periodMs: DurationMs): bigint {
    if (!(periodMs > 0)) throw new LuaError("bad argument #1 to 'add' (period must be positive)");
    const { clock, limits, timers } = this.#options;
    const stepMs = Math.max(periodMs, limits.jobPeriodMs);
    let dueMs = clock.monotonicMs() + stepMs;
    const id = this.open();
    const arm = (): void => this.setTimer(id, timers.set(dueMs, stepMs, fire));
    const fire = (): void => {
      const lateMs = clock.monotonicMs() - dueMs;
      dueMs += stepMs * (1 + Math.max(0, Math.floor(lateMs / stepMs)));
      arm();
      this.tick(id);
    };
    arm();
    return id;
  }

  /**
   * A new job that does nothing by itself: `isOfEvents` when it is called by `tell` and not by `tick`. @throws LuaError when
   * there are too many
   */
  open(onRemoved?: () => void, isOfEvents = false): bigint {
    const { jobs } = this.#options.limits;
    if (this.#jobs.size >= jobs) throw new LuaError(`too many scheduled functions, at most ${jobs}`);
    const id = ++this.#lastId;
    const last = isOfEvents ? undefined : null;
    this.#jobs.set(id, { timer: undefined, isRunning: false, next: undefined, onRemoved, last });
    return id;
  }

  setTimer(id: bigint, timer: { cancel(): void } | undefined): void {
    const job = this.#jobs.get(id);
    if (job) job.timer = timer;
    else timer?.cancel();
  }

  /** Runs the function unless its last run is still going. */
  tick(id: bigint): void {
    const job = this.#jobs.get(id);
    if (job && !job.isRunning) void this.#run(id, job, []);
  }

  /**
   * Runs every function of a schedule once; of a script without any, those of events with what they were last called with. One
   * after another, each begun by `begin`.
   */
  runAll(begin: (work: () => void) => void): 'running' | 'nothing' | Promise<void> {
    const all = [...this.#jobs];
    const scheduled = all.filter(([, { last }]) => last === null);
    const wanted = scheduled.length > 0 ? scheduled : all.filter(([, { last }]) => last);
    if (wanted.length === 0) return 'nothing';
    if (wanted.some(([, { isRunning }]) => isRunning)) return 'running';
    return this.#runEach(
      wanted.map(([id]) => id),
      begin,
    );
  }

  async #runEach(ids: readonly bigint[], begin: (work: () => void) => void): Promise<void> {
    for (const id of ids) {
      const job = this.#jobs.get(id);
      // It may have been removed, or begun by itself, meanwhile.
      if (!job || job.isRunning) continue;
      const over = Promise.withResolvers<void>();
      begin(() => void this.#run(id, job, job.last ?? []).then(over.resolve));
      await over.promise;
    }
  }

  /** Runs the function with these values; while it runs, only the newest are kept for the next run. */
  tell(id: bigint, values: HostResult): void {
    const job = this.#jobs.get(id);
    if (!job) return;
    job.last = values;
    if (job.isRunning) job.next = values;
    else void this.#run(id, job, values);
  }

  remove(id: bigint): void {
    const job = this.#jobs.get(id);
    if (!job) return;
    this.#jobs.delete(id);
    job.timer?.cancel();
    job.onRemoved?.();
    this.#options.onSettled();
  }

  clear(): void {
    for (const job of this.#jobs.values()) job.timer?.cancel();
    this.#jobs.clear();
  }

  /** Resolves when the call has ended, however it does. */
  #run(id: bigint, job: Job, values: HostResult): Promise<void> {
    const { machine, limits } = this.#options;
    const call = machine().call('job', [id, ...values], limits.callMs);
    job.isRunning = true;
    const settle = (): void => {
      job.isRunning = false;
      const { next } = job;
      job.next = undefined;
      if (next && this.#jobs.has(id)) void this.#run(id, job, next);
      this.#options.onSettled();
    };
    return call.then(settle, (failure: LuaFailure) => {
      if (failure.reason !== 'stopped') this.#options.onFailure(failure);
      settle();
    });
  }
}
