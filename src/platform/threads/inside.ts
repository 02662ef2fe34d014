/** The inside of a worker thread that `startThread` started. */
import { parentPort, workerData } from 'node:worker_threads';
import type { DurationMs } from '../../lib/time.ts';
import { END, LOADED } from './signals.ts';

/** A thread's end of its channel. */
export interface ThreadPort<Data, ToThread, FromThread> {
  readonly data: Data;
  /** Sends a message; buffers named in `transfer` move over and are empty here afterwards. */
  post: (message: FromThread, transfer?: ArrayBuffer[]) => void;
  onMessage: (handle: (message: ToThread) => void) => void;
  /** No further messages; the thread ends when it has nothing left to do. */
  close: () => void;
}

/** Rights that no thread needs; with the first one it could start another thread with every right. */
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
  // The port does not keep a process alive that waits for no message.
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
