/**
 * Group commit: many small writes share one synced transaction (decision 2).
 *
 *   participant buffers its data ──▶ request(bytes) ──▶ one promise for the whole group
 *                                        │ window over, or buffers large
 *                                        ▼
 *         BEGIN; every participant.write(); COMMIT (synced) ──▶ participant.committed() ──▶ promise resolves
 *
 * The window adapts: it starts short, doubles while groups stay well filled, and falls back when traffic
 * stops, never above 1 s. When a commit fails (disk full, I/O error) nothing is forgotten: the buffers stay
 * with their owners, the same group is tried again, and waiting callers keep waiting, so nothing is
 * acknowledged before it is on disk.
 */
import { type Limits, LIMITS } from '../../lib/limits.ts';
import { gatewayError } from '../../lib/errors.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import type { Database } from './database.ts';

export interface Participant {
  /** Writes everything buffered, inside the transaction; must be repeatable, so it forgets nothing yet. */
  write(): void;
  /** What `write` wrote is on disk: forget it. */
  committed(): void;
}

export interface GroupCommit {
  /** Registers a participant; order of registration is order of writing. */
  join(participant: Participant): void;
  /**
   * Says that `bytes` more are buffered; resolves after the sync of the commit that holds them. The
   * promise is shared by the group. Rejects with `unavailable` when the buffers are over their limit.
   */
  request(bytes: number): Promise<void>;
  /** Commits what is buffered now. Rejects when the disk refuses. */
  flush(): Promise<void>;
  /** The last failure, while the disk does not take data. */
  readonly failure: Error | undefined;
  stop(): Promise<void>;
}

export function createGroupCommit(options: {
  database: Database;
  name: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits['commits'];
}): GroupCommit {
  const { database, clock, log } = options;
  const limits = options.limits ?? LIMITS.commits;
  const participants: Participant[] = [];
  let group: { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } | undefined;
  let timer: Timer | undefined;
  let windowMs: number = limits.windowMinMs;
  let bufferedBytes = 0;
  let requests = 0;
  let failure: Error | undefined;
  let stopped = false;

  const commits = options.metrics.counter(
    `${options.name}_commits_total`,
    'Group commits that reached the disk.',
  );
  const failures = options.metrics.counter(
    `${options.name}_commit_failures_total`,
    'Group commits that failed.',
  );
  const refused = options.metrics.counter(
    `${options.name}_commit_refused_total`,
    'Writes refused because the buffers were full.',
  );
  options.metrics.gauge(`${options.name}_commit_buffered_bytes`, 'Bytes waiting for a commit.', [], (gauge) =>
    gauge.set(bufferedBytes),
  );

  function open(): NonNullable<typeof group> {
    if (group) return group;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A caller may have left; its absence is no fault of the group.
    promise.catch(() => undefined);
    group = { promise, resolve, reject };
    timer = clock.setTimer(failure ? limits.retryMs : windowMs, run);
    return group;
  }

  function run(): void {
    timer?.cancel();
    timer = undefined;
    const current = group;
    if (!current) return;
    const startedMs = clock.monotonicMs();
    try {
      database.transaction(() => {
        for (const participant of participants) participant.write();
      });
    } catch (error) {
      retryLater(error as Error);
      return;
    }
    if (failure) log.info('disk takes data again', { database: database.path });
    failure = undefined;
    commits.inc();
    adapt(clock.monotonicMs() - startedMs);
    group = undefined;
    bufferedBytes = 0;
    requests = 0;
    for (const participant of participants) participant.committed();
    current.resolve();
  }

  function retryLater(error: Error): void {
    failures.inc();
    failure = error;
    log.warnLimited(`commit:${options.name}`, 60_000, 'commit failed, will be tried again', {
      database: database.path,
      error,
      retry_ms: limits.retryMs,
      buffered_bytes: bufferedBytes,
    });
    if (!stopped) timer = clock.setTimer(limits.retryMs, run);
  }

  /** Long syncs and many requests per group ask for a longer window, so that flash and processor rest. */
  function adapt(commitMs: number): void {
    const target =
      requests <= 2 ? limits.windowMinMs : Math.max(limits.windowMinMs, windowMs * 2, commitMs * 4);
    windowMs = Math.min(target, requests <= 2 ? limits.windowMinMs : BUSY_WINDOW_MS, limits.windowMaxMs);
  }

  return {
    join: (participant) => void participants.push(participant),
    request: (bytes) => {
      if (stopped || bufferedBytes + bytes > limits.bufferedBytes) {
        refused.inc();
        return Promise.reject(
          gatewayError(
            'unavailable',
            'unavailable',
            'The disk does not take data and the buffer is full.',
            undefined,
            failure,
          ),
        );
      }
      bufferedBytes += bytes;
      requests++;
      const { promise } = open();
      if (bufferedBytes > EARLY_COMMIT_BYTES && !failure) run();
      return promise;
    },
    flush: async () => {
      if (!group) return;
      const { promise } = group;
      run();
      if (failure) throw failure;
      await promise;
    },
    get failure() {
      return failure;
    },
    stop: async () => {
      stopped = true;
      run();
      const waiting = group;
      if (!waiting) return;
      group = undefined;
      waiting.reject(failure ?? new Error('stopped'));
    },
  };
}

/** G: a window that halves the number of syncs again gains little beyond this. */
const BUSY_WINDOW_MS = 100;
/** G: one transaction of this size is long enough to be efficient. */
const EARLY_COMMIT_BYTES = 1_048_576;
