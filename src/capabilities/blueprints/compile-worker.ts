/**
 * Compiles uploads in a thread of their own: a large blueprint takes a few hundred milliseconds on a small board, and
 * two hostile megabytes of YAML seconds and a gigabyte.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { programEntry } from '../../platform/processes/index.ts';
import { createTaskWorker, TaskFailure, type TaskTerms } from '../../platform/workers/index.ts';
import type { BlueprintChecks, CompiledBlueprint } from './compile-archive.ts';
import type { Profile } from './profiles/catalogue.ts';

export interface CompileTask {
  zip: Uint8Array;
  /** Uploaded profiles by id. */
  profiles: ReadonlyMap<string, Profile>;
  checks: BlueprintChecks;
}

export interface BlueprintCompiler {
  compile(task: CompileTask, terms?: TaskTerms): Promise<CompiledBlueprint>;
  stop(): Promise<void>;
}

export function createWorkerCompiler(options: { clock: Clock; log: Log }): BlueprintCompiler {
  const { compileTimeoutMs, compileHeapBytes, compileWaiting, compileIdleMs } = LIMITS.blueprints;
  const worker = createTaskWorker<CompileTask, CompiledBlueprint>({
    entry: programEntry('capabilities/blueprints/worker'),
    timeoutMs: compileTimeoutMs,
    heapBytes: compileHeapBytes,
    waiting: compileWaiting,
    idleMs: compileIdleMs,
    ...options,
  });
  return {
    async compile(task, terms) {
      try {
        return await worker.run(task, terms);
      } catch (error) {
        const isTooMuch =
          error instanceof TaskFailure && (error.reason === 'timeout' || error.reason === 'out_of_memory');
        if (!isTooMuch) throw error;
        return { problems: [`archive: judging it ${error.message}`], isZip: true };
      }
    },
    stop: () => worker.stop(),
  };
}
