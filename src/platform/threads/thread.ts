/**
 * A worker thread of this process, for work that would block the event loop. It is started from the module that
 * `programEntry` names, and is reached by messages only.
 */
import { Worker } from 'node:worker_threads';
import type { DurationMs } from '../../lib/time.ts';
import { realPause } from '../clock/index.ts';
import { END, LOADED } from './signals.ts';

/** Real time: a thread that takes part in no turn for so long is ended as it is. */
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
  // A message that cannot be read here, such as one that is nested too deeply; its sender would wait for ever.
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
