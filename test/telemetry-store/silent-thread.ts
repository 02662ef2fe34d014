/** The thread of the store, except that it never says which records it has taken in, as one that is far behind. */
import { parentPort } from 'node:worker_threads';
import type { FromEngine } from '../../src/telemetry-store/engine/messages.ts';

const port = parentPort;
if (!port) throw new Error('this module runs in a worker thread only');
const post = port.postMessage.bind(port) as (message: FromEngine, transfer?: unknown) => void;
const all: typeof post = (message, transfer) => {
  if (message.kind !== 'applied') post(message, transfer);
};
port.postMessage = all;
await import('../../src/telemetry-store/engine/thread.ts');
