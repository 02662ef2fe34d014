/** Ends threads at many moments while they make streams of zlib. */
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startThread } from '../../../src/platform/threads/index.ts';

const ROUNDS = 60;

for (let round = 0; round < ROUNDS; round++) {
  const begun = Promise.withResolvers<unknown>();
  const thread = startThread({
    entry: join(import.meta.dirname, 'busy-thread.ts'),
    data: 'compresses',
    heapMaxMib: 16,
    youngHeapMaxMib: 4,
    onMessage: begun.resolve,
    onExit: (error) => begun.reject(error ?? new Error('ended early')),
  });
  await begun.promise;
  await pause(round % 10);
  await thread.end();
}
process.stdout.write('every thread has ended');
