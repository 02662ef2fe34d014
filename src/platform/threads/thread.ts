/**
 * A worker thread of this process, for work that would keep the event loop from answering. It is started from
 * the module that `programEntry` names, and speaks by messages only.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import type { DurationMs } from '../../lib/time.ts';
import { realPause } from '../clock/index.ts';

/** Of real time: a thread that takes part in no turn for so long is ended where it stands. */
const LAST_TURN_MS = 1_000;

/** One that was started. */
export interface Thread {
  /** Sends a message; buffers named in `transfer` move over and are empty here afterwards. */
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  /**
   * Ends the thread between two turns of its event loop, or, when it comes to none within a second, where it stands.
   * Resolves when it is gone. What the runtime was making when a thread is ended where it stands may end the program: a
   * zlib stream does that is not quite made.
   */
  end(): Promise<void>;
  /** Processor time that it has taken, also while it is stuck; rejects when it has ended. */
  processorMs(): Promise<DurationMs>;
  /** Ends the thread where it stands, for one that is stuck; resolves when it is gone. */
  terminate(): Promise<void>;
}

interface ThreadOptions {
  /** Absolute path of the module. */
  entry: string;
  /** Handed to the thread at its start. */
  data: unknown;
  /** Memory of its JavaScript objects: of the old ones, and of the young ones among them (default: Node's own). */
  heapMaxMib: number;
  youngHeapMaxMib?: number;
  /** It does not keep the program alive. */
  isUnref?: boolean;
  onMessage: (message: unknown) => void;
  /** It ended, for whatever reason; `error` when by a failure of its own. Called once. */
  onExit: (error: Error | undefined) => void;
}

/** Never throws: where the system has no room for another thread, it has ended before anybody can use it. */
export function startThread(options: ThreadOptions): Thread {
  try {
    return begin(options);
  } catch (error) {
    queueMicrotask(() => options.onExit(error as Error));
    return {
      post: () => undefined,
      end: () => Promise.resolve(),
      terminate: () => Promise.resolve(),
      processorMs: () => Promise.resolve(0),
    };
  }
}

function begin(options: ThreadOptions): Thread {
  const worker = new Worker(options.entry, {
    workerData: options.data,
    resourceLimits: {
      maxOldGenerationSizeMb: options.heapMaxMib,
      maxYoungGenerationSizeMb: options.youngHeapMaxMib,
    },
  });
  if (options.isUnref === true) worker.unref();
  let failure: Error | undefined;
  const exited = Promise.withResolvers<void>();
  const loaded = Promise.withResolvers<void>();
  worker.on('message', (message) => {
    if (message === LOADED) loaded.resolve();
    else options.onMessage(message);
  });
  worker.on('error', (error: Error) => {
    failure = error;
  });
  // A message that cannot be read here, such as one that is nested too deeply: whoever waits for it would wait in vain.
  worker.on('messageerror', (error: Error) => {
    failure = error;
    void worker.terminate();
  });
  worker.on('exit', () => {
    loaded.resolve();
    exited.resolve();
    options.onExit(failure);
  });
  const terminate = async (): Promise<void> => {
    await loaded.promise;
    await worker.terminate();
  };
  return {
    processorMs: async () => {
      const { user, system } = await worker.cpuUsage();
      return (user + system) / 1_000;
    },
    post: (message, transfer) => worker.postMessage(message, transfer),
    end: async () => {
      await loaded.promise;
      worker.ref();
      worker.postMessage(END);
      await Promise.race([exited.promise, realPause(LAST_TURN_MS)]);
      await terminate();
    },
    terminate,
  };
}

// Messages between a thread and its starter that come before and after all others.

/**
 * First message of a thread. Ending a thread while it loads the native part of a library ends the whole program: its
 * environment answers no call any more, and the library takes that for a fatal error.
 */
export const LOADED = 'loaded';

/** Asks a thread to end itself between two turns of its event loop. */
export const END = 'end';

// The inside of a worker thread that `startThread` started.

/** A thread's end of its channel. */
export interface ThreadPort<Data, ToThread, FromThread> {
  readonly data: Data;
  /** Sends a message; buffers named in `transfer` move over and are empty here afterwards. */
  post: (message: FromThread, transfer?: ArrayBuffer[]) => void;
  onMessage: (handle: (message: ToThread) => void) => void;
  /** No further messages; the thread ends when it has nothing left to do. */
  close: () => void;
}

/** What no thread needs; with the first one it could start another thread with every right. */
const MAIN_THREAD_ONLY = ['worker', 'child', 'fs.write'];

/** Processor time that this thread has taken. */
export function processorMs(): DurationMs {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** Also gives up rights that only the main thread of a program needs. @throws Error on the main thread */
export function connectThread<Data, ToThread, FromThread>(): ThreadPort<Data, ToThread, FromThread> {
  const port = parentPort;
  if (!port) throw new Error('this module runs in a worker thread only');
  // Only a program that was started with the permission model has rights to give up.
  const { permission } = process as { permission?: { drop(right: string): void } };
  for (const right of MAIN_THREAD_ONLY) permission?.drop(right);
  const early: ToThread[] = [];
  let handler = (message: ToThread): void => void early.push(message);
  port.on('message', (message: ToThread | typeof END) => {
    if (message === END) process.exit();
    handler(message);
  });
  // Who waits for no message does not stay for one.
  port.unref();
  port.postMessage(LOADED);
  return {
    data: workerData as Data,
    post: (message, transfer = []) => port.postMessage(message, transfer),
    onMessage: (handle) => {
      handler = handle;
      port.ref();
      for (const message of early.splice(0)) handle(message);
    },
    close: () => port.close(),
  };
}
