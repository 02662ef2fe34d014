import type { Limits } from '../../lib/limits.ts';
import { TaskWorker } from '../workers/index.ts';
import type { UpkeepResult, UpkeepTask } from './upkeep-tasks.ts';

type Options = ConstructorParameters<typeof TaskWorker>[0];

/** The thread that tends a database beside the event loop; it runs only while there is something to do. */
export function createUpkeepWorker({
  limits,
  ...options
}: Pick<Options, 'entry' | 'waiting' | 'clock' | 'log'> & {
  limits: Limits['state'];
}): TaskWorker<UpkeepTask, UpkeepResult> {
  return new TaskWorker({
    ...options,
    timeoutMs: limits.upkeepTimeoutMs,
    heapBytes: limits.upkeepHeapBytes,
    idleMs: limits.upkeepIdleMs,
  });
}
