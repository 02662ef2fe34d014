/** Opening backups beside the event loop. */
import { unavailable } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { programEntry } from '../processes/index.ts';
import { TaskWorker } from '../workers/index.ts';
import { BackupError, type BackupInfo } from './layout.ts';

export interface OpenTask {
  /** `check` judges, `restore` makes ready for the next start. */
  kind: 'check' | 'restore';
  path: string;
  password: string;
  /** True when the restored copy must not send anything. */
  isRehearsal?: boolean;
  dataDir: string;
  nowMs: EpochMs;
}

export interface Opened {
  /** Undefined: a plain copy of state.db. */
  info: BackupInfo | undefined;
  refusal?: string;
  /** It is the box that refuses, and not what the file holds. */
  isUnavailable?: boolean;
}

/** Opens sealed backups on a thread of its own. */
export type BackupOpener = ReturnType<typeof createBackupOpener>;

const HEAP_BYTES = 256 * 1_048_576;
const IDLE_MS = 5_000;

/** Its thread lives while there is something to open. */
export function createBackupOpener(options: {
  dataDir: string;
  clock: Clock;
  log: Log;
  limits: Limits['backup'];
}) {
  const { dataDir, clock, log, limits } = options;
  const worker: TaskWorker<OpenTask, Opened> = new TaskWorker({
    entry: programEntry('platform/backup/open-thread'),
    timeoutMs: limits.openTimeoutMs,
    heapBytes: HEAP_BYTES,
    waiting: 1,
    idleMs: IDLE_MS,
    clock,
    log,
  });
  return {
    /** @throws BackupError; GatewayError unavailable when the disk refuses; TaskFailure when it takes too long or too much */
    open: async (task: Omit<OpenTask, 'nowMs' | 'dataDir'>): Promise<BackupInfo | undefined> => {
      const { info, refusal, isUnavailable } = await worker.run({ ...task, dataDir, nowMs: clock.wallMs() });
      if (refusal !== undefined && isUnavailable) throw unavailable(refusal);
      if (refusal !== undefined) throw new BackupError(refusal);
      return info;
    },
    stop: () => worker.stop(),
  };
}
