/**
 * When to sync: many small writes share one sync of the disk (decision 2). Whatever is made durable, a
 * transaction or a journal record, the waiting is the same:
 *
 *   caller buffers its data ──▶ request(bytes) ──▶ one promise for the whole group
 *                                   │ window over, or the group is large and has gone quiet
 *                                   ▼
 *                     commit() makes everything buffered durable ──▶ the promise resolves
 *
 * The window follows a budget of syncs, which is won back while nobody waits: a rare message, or one device
 * that speaks every second, is acknowledged after `windowMinMs`; where many send all the time they wait, so
 * that a flash card sees about one sync a second, two at worst; a burst is committed as soon as it pauses,
 * because then somebody waits for the acknowledgement before sending on.
 *
 * When a commit fails (disk full, I/O error) nothing is forgotten: the data stays with its owner, the same
 * groups are tried again, and waiting callers keep waiting, so nothing is acknowledged before it is on disk.
 */
import { gatewayError } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';

export interface CommitGroup {
  /**
   * Says that `bytes` more are buffered; resolves after the sync of the commit that holds them. The
   * promise is shared by the group. Rejects with `unavailable` when the buffers are over their limit.
   */
  request: (bytes: number) => Promise<void>;
  /** True while `bytes` more would be refused; ask before buffering. */
  isFull: (bytes: number) => boolean;
  /** Commits what is buffered now. Rejects when the disk refuses. */
  flush: () => Promise<void>;
  /** The last failure, while the disk does not take data. */
  readonly failure: Error | undefined;
  /** One last commit; callers still waiting after it are refused. */
  stop: () => Promise<void>;
}

interface Group {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
  bytes: number;
  requests: number;
  openedAtMs: number;
  lastRequestAtMs: number;
}

export interface CommitGroupOptions {
  /** Prefix of the metrics, snake_case. */
  name: string;
  /** What is written, for the log. */
  target: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits['commits'];
  /**
   * Makes everything buffered at the time of the call durable. Throws or rejects when it could not; must be
   * repeatable then. Never called while an earlier call is running.
   */
  commit: () => Promise<void> | void;
}

export function createCommitGroup(options: CommitGroupOptions): CommitGroup {
  const { clock, log } = options;
  const limits = options.limits ?? LIMITS.commits;
  const counters = createCounters(options.name, options.metrics, () => bufferedBytes);
  const budget = createSyncBudget(clock, limits);
  /** Groups not on disk yet, oldest first; the last one is open for further requests. */
  let waiting: Group[] = [];
  let open: Group | undefined;
  let bufferedBytes = 0;
  let timer: Timer | undefined;
  let running: Promise<void> | undefined;
  let failure: Error | undefined;
  let stopped = false;

  function openGroup(): Group {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A caller may have left; its absence is no fault of the group.
    promise.catch(() => undefined);
    const nowMs = clock.monotonicMs();
    if (waiting.length === 0 && !running) budget.pauseEnds();
    open = { promise, resolve, reject, bytes: 0, requests: 0, openedAtMs: nowMs, lastRequestAtMs: nowMs };
    waiting.push(open);
    if (!failure && !running) schedule(budget.waitMs());
    return open;
  }

  function schedule(durationMs: number): void {
    timer?.cancel();
    timer = clock.setTimer(durationMs, () => {
      timer = undefined;
      if (!failure && open && isBusy(open) && !isDue(open)) schedule(limits.quietMs);
      else void run();
    });
  }

  const isBusy = (group: Group): boolean =>
    group.requests >= limits.busyRequests || group.bytes >= limits.busyBytes;

  /** A busy group waits for the pause in the burst, but not long. */
  const isDue = (group: Group): boolean => {
    const nowMs = clock.monotonicMs();
    return (
      nowMs - group.lastRequestAtMs >= limits.quietMs ||
      nowMs - group.openedAtMs >= limits.busyWindowMs ||
      group.bytes >= limits.largeBytes
    );
  };

  function run(): Promise<void> {
    running ??= commitWaiting().finally(() => {
      running = undefined;
      if (failure) {
        if (!stopped) schedule(limits.retryMs);
      } else if (open) schedule(isBusy(open) ? limits.quietMs : budget.waitMs());
      else budget.pauseBegins();
    });
    return running;
  }

  async function commitWaiting(): Promise<void> {
    timer?.cancel();
    timer = undefined;
    const covered = waiting;
    if (covered.length === 0) return;
    waiting = [];
    open = undefined;
    budget.spend();
    try {
      await options.commit();
    } catch (error) {
      waiting = [...covered, ...waiting];
      failed(error as Error);
      return;
    }
    if (failure) log.info('disk takes data again', { target: options.target });
    failure = undefined;
    counters.commits.inc();
    for (const group of covered) {
      bufferedBytes -= group.bytes;
      group.resolve();
    }
  }

  function failed(error: Error): void {
    counters.failures.inc();
    failure = error;
    log.warnLimited(`commit:${options.name}`, 60_000, 'commit failed, will be tried again', {
      target: options.target,
      error,
      retry_ms: limits.retryMs,
      buffered_bytes: bufferedBytes,
    });
  }

  const isFull = (bytes: number): boolean => stopped || bufferedBytes + bytes > limits.bufferedBytes;

  return {
    isFull,
    request: (bytes) => {
      if (isFull(bytes)) {
        counters.refused.inc();
        return Promise.reject(refusal(failure));
      }
      bufferedBytes += bytes;
      const group = open ?? openGroup();
      group.bytes += bytes;
      group.requests++;
      group.lastRequestAtMs = clock.monotonicMs();
      if (!failure && !running && isBusy(group)) {
        if (group.bytes >= limits.largeBytes) void run();
        else if (group.requests === limits.busyRequests || group.bytes - bytes < limits.busyBytes)
          schedule(limits.quietMs);
      }
      return group.promise;
    },
    flush: async () => {
      if (running) await running;
      if (waiting.length === 0) return;
      await run();
      if (failure) throw failure;
    },
    get failure() {
      return failure;
    },
    stop: async () => {
      stopped = true;
      if (running) await running;
      await run();
      timer?.cancel();
      for (const group of waiting) group.reject(failure ?? new Error('stopped'));
      waiting = [];
      open = undefined;
    },
  };
}

function refusal(cause: Error | undefined): Error {
  return gatewayError(
    'unavailable',
    'unavailable',
    'The disk does not take data and the buffer is full.',
    undefined,
    cause,
  );
}

interface SyncBudget {
  /** How long a first request may wait. */
  waitMs(): number;
  spend(): void;
  /** Nobody waits from now on. */
  pauseBegins(): void;
  pauseEnds(): void;
}

/**
 * Waits are short while few syncs were spent lately, else most of the longest window, leaving the rest for the
 * sync itself. Pauses win syncs back: where messages leave none, more syncs would come with short windows; where
 * they do, a long window saves nothing, and would keep one device waiting at exactly the rate it is won back.
 */
function createSyncBudget(clock: Clock, limits: Limits['commits']): SyncBudget {
  let shortWindows: number = limits.shortWindows;
  let pausedAtMs: number | undefined;
  return {
    waitMs: () => (shortWindows >= 1 ? limits.windowMinMs : limits.windowMaxMs - limits.syncAllowanceMs),
    spend: () => {
      // Who waited the long window has paid for it: a part that was won back stays.
      if (shortWindows >= 1) shortWindows--;
    },
    pauseBegins: () => {
      pausedAtMs = clock.monotonicMs();
    },
    pauseEnds: () => {
      const pausedMs = clock.monotonicMs() - (pausedAtMs ?? clock.monotonicMs());
      pausedAtMs = undefined;
      shortWindows = Math.min(limits.shortWindows, shortWindows + pausedMs / limits.shortWindowPauseMs);
    },
  };
}

function createCounters(name: string, metrics: Metrics, bufferedBytes: () => number) {
  metrics.gauge(`${name}_commit_buffered_bytes`, 'Bytes waiting for a commit.', [], (gauge) =>
    gauge.set(bufferedBytes()),
  );
  return {
    commits: metrics.counter(`${name}_commits_total`, 'Group commits that reached the disk.'),
    failures: metrics.counter(`${name}_commit_failures_total`, 'Group commits that failed.'),
    refused: metrics.counter(`${name}_commit_refused_total`, 'Writes refused because the buffers were full.'),
  };
}
