/**
 * Compiles uploads in a thread of their own: a large blueprint takes a few hundred milliseconds on a small board, and
 * two hostile megabytes of YAML seconds and a gigabyte.
 */
import { GatewayError, unavailable } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { programEntry } from '../../platform/processes/index.ts';
import { TaskWorker, TaskFailure, type TaskTerms } from '../../platform/workers/index.ts';
import type { BlueprintChecks, CompiledBlueprint } from './compile-archive.ts';
import type { Profile } from './profiles/catalogue.ts';

/** G: a board that is starved for a minute needs some more. */
const BUSY_RETRY_AFTER_S = 60;

export interface CompileTask {
  zip: Uint8Array;
  /** Uploaded profiles by id. */
  profiles: ReadonlyMap<string, Profile>;
  checks: BlueprintChecks;
}

export type BlueprintCompiler = ReturnType<typeof createWorkerCompiler>;

export function createWorkerCompiler(options: { clock: Clock; log: Log; metrics: Metrics }) {
  const { compileTimeoutMs, compileHeapBytes, compileWaiting, compileIdleMs } = LIMITS.blueprints;
  const worker = new TaskWorker<CompileTask, CompiledBlueprint>({
    entry: programEntry('capabilities/blueprints/worker'),
    timeoutMs: compileTimeoutMs,
    countsProcessorTime: true,
    heapBytes: compileHeapBytes,
    waiting: compileWaiting,
    idleMs: compileIdleMs,
    ...options,
  });
  const queue = options.metrics.queue('blueprint_compilations', {
    limit: 2 * compileWaiting,
    depth: () => worker.waiting,
  });
  return {
    async compile(task: CompileTask, terms?: TaskTerms) {
      try {
        return await worker.run(task, terms);
      } catch (error) {
        const isTooMuch =
          error instanceof TaskFailure && (error.reason === 'timeout' || error.reason === 'out_of_memory');
        if (error instanceof GatewayError) queue.dropped();
        if (error instanceof TaskFailure && error.reason === 'busy')
          throw unavailable('The processor of the gateway is busy with other work; try again later.', {
            cause: error,
            retryAfterS: BUSY_RETRY_AFTER_S,
          });
        if (!isTooMuch) throw error;
        return { problems: [`archive: judging it ${error.message}`], isZip: true };
      }
    },
    stop: () => worker.stop(),
  };
}
