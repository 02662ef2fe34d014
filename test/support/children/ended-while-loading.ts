/** Ends threads at many moments of their loading. */
import { setTimeout as pause } from 'node:timers/promises';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { createLog } from '../../../src/platform/log/index.ts';
import { programEntry } from '../../../src/platform/processes/index.ts';
import { TaskWorker } from '../../../src/platform/workers/index.ts';

const ROUNDS = 60;

const clock = createSystemClock();
const log = createLog({ level: 'error', format: 'text', clock, write: () => undefined });
const entry = programEntry('platform/sqlite/upkeep-thread');
for (let round = 0; round < ROUNDS; round++) {
  const limits = { timeoutMs: 60_000, heapBytes: 64 * 1_048_576, waiting: 1, idleMs: 60_000 };
  const worker = new TaskWorker<object, unknown>({ entry, ...limits, clock, log });
  // Stopped, mostly.
  const task = worker.run({ kind: 'none' }).catch(() => undefined);
  await pause(round);
  await worker.stop();
  await task;
}
clock.close();
process.stdout.write('every thread has ended');
