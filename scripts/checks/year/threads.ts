/**
 * The thread that tends state.db begins and ends many times a day, which takes longer than what it does: here one lives
 * as long as the year and serves all of them. All other threads are as they are.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { type Worker as Thread } from 'node:worker_threads';
import type { UpkeepResult, UpkeepTask } from '../../../src/platform/sqlite/upkeep-tasks.ts';
import { END, LOADED } from '../../../src/platform/threads/signals.ts';
import type { Answer, Question } from '../../../src/platform/workers/task-worker.ts';

const ENTRY = /\/upkeep-thread\.[jt]s$/;

export interface SimulatedThreads {
  /** Resolves when nothing is being done to state.db: what takes a moment of real time must not take hours of simulated. */
  idle: () => Promise<void>;
  /** Gives the threads back. */
  restore: () => Promise<void>;
}

type UpkeepAnswer = Answer<UpkeepResult>;

class SharedThread {
  readonly #thread: Thread;
  readonly #asked = new Map<number, (answer: UpkeepAnswer) => void>();
  #last: Promise<unknown> = Promise.resolve();
  #number = 0;

  constructor(thread: Thread) {
    this.#thread = thread;
    thread.on('message', (answer: UpkeepAnswer) => {
      this.#asked.get(answer.number)?.(answer);
      this.#asked.delete(answer.number);
    });
  }

  ask(input: UpkeepTask): Promise<UpkeepAnswer> {
    const number = ++this.#number;
    const answer = new Promise<UpkeepAnswer>((resolve) => this.#asked.set(number, resolve));
    this.#thread.postMessage({ number, input } satisfies Question<UpkeepTask>);
    this.#last = answer;
    return answer;
  }

  async idle(): Promise<void> {
    await this.#last;
  }

  async end(): Promise<void> {
    await this.#thread.terminate();
  }
}

/** What `startThread` uses of a worker. */
class UpkeepClient extends EventEmitter {
  readonly #shared: SharedThread;
  #isOver = false;

  constructor(shared: SharedThread) {
    super();
    this.#shared = shared;
    queueMicrotask(() => this.emit('message', LOADED));
  }

  postMessage(message: Question<UpkeepTask> | typeof END): void {
    if (message === END) {
      void this.terminate().then(() => this.emit('exit'));
      return;
    }
    const { number, input } = message;
    void this.#shared.ask(input).then((answer) => {
      if (!this.#isOver) this.emit('message', { ...answer, number });
    });
  }

  ref(): void {
    // The thread itself does not keep the process alive.
  }

  unref(): void {
    this.ref();
  }

  /** What is in hand is finished: no thread that was ended writes to a database of the next start. */
  async terminate(): Promise<number> {
    this.#isOver = true;
    await this.#shared.idle();
    return 0;
  }
}

export function takeOverThreads(): SimulatedThreads {
  const { Worker } = workerThreads;
  let shared: SharedThread | undefined;
  workerThreads.Worker = new Proxy(Worker, {
    construct: (target, parameters: ConstructorParameters<typeof Worker>) =>
      ENTRY.test(String(parameters[0]))
        ? new UpkeepClient((shared ??= new SharedThread(new target(...parameters))))
        : new target(...parameters),
  });
  syncBuiltinESMExports();
  return {
    idle: async () => shared?.idle(),
    restore: async () => {
      workerThreads.Worker = Worker;
      syncBuiltinESMExports();
      await shared?.end();
    },
  };
}
