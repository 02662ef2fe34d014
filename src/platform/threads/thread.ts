/**
 * A worker thread of this process, for work that would keep the event loop from answering. It is started from
 * the module that `programEntry` names, and speaks by messages only.
 */
import { Worker } from 'node:worker_threads';
import { LOADED, loadedOf } from './loaded.ts';

/** One that was started. */
export interface Thread {
  /** Sends a message; buffers named in `transfer` move over and are empty here afterwards. */
  post(message: unknown, transfer?: readonly ArrayBuffer[]): void;
  /** Ends the thread where it stands; resolves when it is gone. */
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
    return { post: () => undefined, terminate: () => Promise.resolve() };
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
  const loaded = loadedOf(worker);
  worker.on('message', (message) => {
    if (message !== LOADED) options.onMessage(message);
  });
  worker.on('error', (error: Error) => {
    failure = error;
  });
  worker.on('exit', () => options.onExit(failure));
  return {
    post: (message, transfer) => worker.postMessage(message, transfer),
    terminate: async () => {
      await loaded;
      await worker.terminate();
    },
  };
}
