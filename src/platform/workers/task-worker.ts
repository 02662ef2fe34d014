import { type GatewayError, messageOf, unavailable } from '../../lib/errors.ts';
import { codeOf } from '../../lib/system-fault.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { connectThread, processorMs, startThread, type Thread } from '../threads/index.ts';

interface TaskWorkerOptions {
  /** Absolute path of the thread's entry, which calls `serveTasks`. */
  entry: string;
  /** Longest duration of one task. */
  timeoutMs: DurationMs;
  /** A task may take so much processor time; it is unavailable when it has not got that in twice the time. */
  countsProcessorTime?: boolean;
  /** Largest heap of the thread. */
  heapBytes: number;
  /** Tasks that may wait, and as many again of those that give way; one more is refused. */
  waiting: number;
  /** An idle thread ends after this. */
  idleMs: DurationMs;
  clock: Clock;
  log: Log;
}

/** How one task runs. */
export interface TaskTerms {
  /** Begins when no other task waits. */
  givesWay?: boolean;
  /** Default: that of the worker. */
  timeoutMs?: DurationMs;
  /** Told, however the task ended, how much processor time it took. */
  onWork?: (durationMs: DurationMs) => void;
}

/** Why a task has no result. */
export class TaskFailure extends Error {
  readonly reason: 'timeout' | 'out_of_memory' | 'crashed' | 'failed' | 'stopped';

  constructor(reason: TaskFailure['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'TaskFailure';
    this.reason = reason;
  }
}

export interface Question<Input> {
  number: number;
  input: Input;
}

/** `processorMs`: what the thread has taken since its start. */
export type Answer<Output> = { number: number; processorMs: DurationMs } & (
  | { output: Output; failure?: undefined }
  /** `code`: of what disk or system refused. */
  | { output?: undefined; failure: string; code: string | undefined }
);

interface Task<Input, Output> {
  input: Input;
  terms: TaskTerms;
  resolve: (output: Output) => void;
  reject: (failure: TaskFailure | GatewayError) => void;
}

const RETRY_AFTER_S = 5;
/** G: a board that is starved for a minute needs some more. */
const BUSY_RETRY_AFTER_S = 60;
const MIB = 1_048_576;

/**
 * Work that may take long or much memory, in a thread of its own: the event loop goes on, and a task that
 * exceeds its time or memory ends with its thread, not with the program. One task at a time, others wait in
 * order, those that give way behind all others; the thread starts with the first task and ends when none has come for a while.
 */
export class TaskWorker<Input, Output> {
  readonly #options: TaskWorkerOptions;
  readonly #waiting: Task<Input, Output>[] = [];
  /** Those that give way. */
  readonly #behind: Task<Input, Output>[] = [];
  #current: (Task<Input, Output> & { number: number; timer: Timer; startedMs: MonotonicMs }) | undefined;
  #thread: Thread | undefined;
  /** Processor time of the thread before the present task. */
  #usedMs: DurationMs = 0;
  #idle: Timer | undefined;
  #number = 0;
  #isStopped = false;

  constructor(options: TaskWorkerOptions) {
    this.#options = options;
  }

  /**
   * Input and output are copied. @throws TaskFailure when the task exceeds a limit or fails, and after `stop`;
   * GatewayError unavailable when too many tasks wait, or the processor is busy with other work
   */
  run(input: Input, terms: TaskTerms = {}): Promise<Output> {
    if (this.#isStopped) return Promise.reject(new TaskFailure('stopped', 'stopped'));
    const queue = terms.givesWay === true ? this.#behind : this.#waiting;
    if (this.#current !== undefined && queue.length >= this.#options.waiting)
      return Promise.reject(
        unavailable('Too many requests of this kind are waiting; try again later.', {
          retryAfterS: RETRY_AFTER_S,
        }),
      );
    return new Promise((resolve, reject) => {
      queue.push({ input, terms, resolve, reject });
      this.#next();
    });
  }

  /** Tasks that wait for those before them. */
  get waiting(): number {
    return this.#waiting.length + this.#behind.length;
  }

  /** Ends the thread for good; tasks in hand fail, as do later ones. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    const thread = this.#thread;
    for (const task of [...this.#waiting.splice(0), ...this.#behind.splice(0)])
      task.reject(new TaskFailure('stopped', 'stopped'));
    this.#end(new TaskFailure('stopped', 'stopped'));
    await thread?.end();
  }

  #next(): void {
    if (this.#current !== undefined) return;
    const task = this.#waiting.shift() ?? this.#behind.shift();
    if (task === undefined) {
      this.#endWhenIdle();
      return;
    }
    this.#idle?.cancel();
    this.#idle = undefined;
    const { clock } = this.#options;
    const { timeoutMs = this.#options.timeoutMs } = task.terms;
    const number = ++this.#number;
    const timer = clock.setTimer(timeoutMs, () => void this.#overdue(number, timeoutMs));
    this.#current = { ...task, number, timer, startedMs: clock.monotonicMs() };
    try {
      this.#thread ??= this.#start();
      this.#thread.post({ number, input: task.input } satisfies Question<Input>);
    } catch (error) {
      // An input that cannot be copied: the next task need not wait for the end of its time.
      this.#end(new TaskFailure('crashed', messageOf(error)));
    }
  }

  /** The time of a task is over by the clock; on a busy processor it may have had little of it. */
  async #overdue(number: number, timeoutMs: DurationMs): Promise<void> {
    const { clock, countsProcessorTime } = this.#options;
    const thread = this.#thread;
    const takenMs = countsProcessorTime
      ? await thread?.processorMs().then(
          (sinceStartMs) => sinceStartMs - this.#usedMs,
          // It has not begun yet.
          () => 0,
        )
      : timeoutMs;
    const task = this.#current;
    if (task?.number !== number || takenMs === undefined) return;
    if (takenMs >= timeoutMs) {
      const words = countsProcessorTime ? 's of processor time' : 's';
      return this.#end(new TaskFailure('timeout', `took longer than ${timeoutMs / 1_000} ${words}`), takenMs);
    }
    const leftMs = task.startedMs + 2 * timeoutMs - clock.monotonicMs();
    if (leftMs <= 0) return this.#end(tooBusy(), takenMs);
    task.timer = clock.setTimer(
      Math.min(leftMs, timeoutMs - takenMs),
      () => void this.#overdue(number, timeoutMs),
    );
  }

  /** Ends an idle thread after a while. */
  #endWhenIdle(): void {
    if (this.#thread === undefined) return;
    this.#idle ??= this.#options.clock.setTimer(this.#options.idleMs, () => {
      this.#idle = undefined;
      this.#end(new TaskFailure('stopped', 'idle'));
    });
  }

  #start(): Thread {
    const { entry, heapBytes, log } = this.#options;
    const thread = startThread({
      entry,
      data: undefined,
      heapMaxMib: Math.ceil(heapBytes / MIB),
      // A task in hand keeps the program alive by its caller; an idle thread must not.
      isUnref: true,
      onMessage: (answer) => this.#answered(thread, answer as Answer<Output>),
      onExit: (error: (Error & { code?: string }) | undefined) => {
        if (error) log.warn('worker thread failed', { entry, error });
        if (this.#thread !== thread) return;
        const isMemory = error?.code === 'ERR_WORKER_OUT_OF_MEMORY';
        this.#end(
          isMemory
            ? new TaskFailure('out_of_memory', `took more than ${heapBytes / MIB} MiB of memory`)
            : new TaskFailure('crashed', error?.message ?? 'the thread ended', { cause: error }),
        );
      },
    });
    return thread;
  }

  #answered(thread: Thread, answer: Answer<Output>): void {
    const task = this.#current;
    if (this.#thread !== thread || task === undefined || task.number !== answer.number) return;
    const takenMs = answer.processorMs - this.#usedMs;
    this.#usedMs = answer.processorMs;
    this.#ended(task, takenMs);
    this.#current = undefined;
    if (answer.failure === undefined) task.resolve(answer.output);
    else {
      const cause = Object.assign(new Error(answer.failure), { code: answer.code });
      task.reject(new TaskFailure('failed', answer.failure, { cause }));
    }
    this.#next();
  }

  #ended(
    { timer, terms, startedMs }: { timer: Timer; terms: TaskTerms; startedMs: MonotonicMs },
    takenMs = this.#options.clock.monotonicMs() - startedMs,
  ): void {
    timer.cancel();
    terms.onWork?.(takenMs);
  }

  /** Gives the thread up and fails the task in hand; the others get a new thread. */
  #end(failure: TaskFailure | GatewayError, takenMs?: DurationMs): void {
    const thread = this.#thread;
    const task = this.#current;
    this.#thread = undefined;
    this.#usedMs = 0;
    this.#current = undefined;
    this.#idle?.cancel();
    this.#idle = undefined;
    if (task) this.#ended(task, takenMs);
    task?.reject(failure);
    void thread?.end();
    this.#next();
  }
}

const tooBusy = (): GatewayError =>
  unavailable('The processor of the gateway is busy with other work; try again later.', {
    retryAfterS: BUSY_RETRY_AFTER_S,
  });

/** Called once by the entry of a worker thread: answers every task with what `handle` makes of its input. */
export function serveTasks(handle: (input: never) => unknown): void {
  const { post, onMessage } = connectThread<undefined, Question<never>, Answer<unknown>>();
  const answer = async ({ number, input }: Question<never>): Promise<Answer<unknown>> => {
    try {
      return { number, output: await handle(input), processorMs: processorMs() };
    } catch (error) {
      return { number, failure: messageOf(error), code: codeOf(error), processorMs: processorMs() };
    }
  };
  onMessage((question) => void answer(question).then((message) => post(message)));
}
