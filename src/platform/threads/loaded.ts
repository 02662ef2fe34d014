/**
 * A thread that is ended while it loads the native part of a library takes the whole program along: its environment
 * answers no call any more, and the library takes that for a fatal error. So it is not ended before it has loaded.
 */
import type { Worker } from 'node:worker_threads';

/** What a thread says first. */
export const LOADED = 'loaded';

/** Resolves when the thread has said something or has ended. To be called when it has been started. */
export function loadedOf(worker: Worker): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  for (const event of ['message', 'error', 'exit']) worker.once(event, () => resolve());
  return promise;
}
