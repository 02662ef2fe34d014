/**
 * The thread that tends state.db begins and ends many times a day, which takes longer than what it does: its tasks run
 * in this thread. All other threads are real.
 */
import { EventEmitter } from 'node:events';
import { syncBuiltinESMExports } from 'node:module';
import workerThreads from 'node:worker_threads';
import { messageOf } from '../../src/lib/errors.ts';
import { runUpkeep, type UpkeepTask } from '../../src/platform/sqlite/upkeep-tasks.ts';
import type { Answer, Question } from '../../src/platform/workers/task-worker.ts';

const ENTRY = /\/upkeep-thread\.[jt]s$/;

/** What `TaskWorker` uses of a worker. */
class UpkeepInPlace extends EventEmitter {
  #isOver = false;

  postMessage({ number, input }: Question<UpkeepTask>): void {
    setImmediate(() => {
      if (!this.#isOver) this.emit('message', answerOf(number, input));
    });
  }

  unref(): void {
    // Nothing of its own keeps the process alive.
  }

  async terminate(): Promise<number> {
    this.#isOver = true;
    return 0;
  }
}

function answerOf(number: number, input: UpkeepTask): Answer<unknown> {
  try {
    return { number, output: runUpkeep(input) };
  } catch (error) {
    return { number, failure: messageOf(error) };
  }
}

/** Returns what gives the threads back. */
export function takeOverThreads(): () => void {
  const { Worker } = workerThreads;
  workerThreads.Worker = new Proxy(Worker, {
    construct: (target, parameters: ConstructorParameters<typeof Worker>) =>
      ENTRY.test(String(parameters[0])) ? new UpkeepInPlace() : new target(...parameters),
  });
  syncBuiltinESMExports();
  return () => {
    workerThreads.Worker = Worker;
    syncBuiltinESMExports();
  };
}
