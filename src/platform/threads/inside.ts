/** The inside of a worker thread that `startThread` started. */
import { parentPort, workerData } from 'node:worker_threads';

export interface ThreadPort<Data, ToThread, FromThread> {
  readonly data: Data;
  post: (message: FromThread) => void;
  onMessage: (handle: (message: ToThread) => void) => void;
  /** No further messages; the thread ends when it has nothing left to do. */
  close: () => void;
}

/** @throws Error on the main thread */
export function connectThread<Data, ToThread, FromThread>(): ThreadPort<Data, ToThread, FromThread> {
  const port = parentPort;
  if (!port) throw new Error('this module runs in a worker thread only');
  return {
    data: workerData as Data,
    post: (message) => port.postMessage(message),
    onMessage: (handle) => void port.on('message', handle),
    close: () => port.close(),
  };
}
