/**
 * When to sync: many small writes share one sync of the disk (decision 0002), for transactions and journal records alike:
 *
 *   caller buffers its data ──▶ request(bytes) ──▶ one promise for the whole group
 *                                   │ window over, or the group is large and has gone quiet
 *                                   ▼
 *                     commit() makes everything buffered durable ──▶ the promise resolves
 *
 * The window follows a budget of syncs, which recovers while nobody waits. A rare message, or one device that sends
 * every second, is acknowledged after `windowMinMs`; under steady load callers wait longer, so that a flash card sees
 * about one sync a second, two at worst; a burst is committed as soon as it pauses, because then somebody waits for the
 * acknowledgement before sending on. A caller that is known to wait calls `expedite`.
 *
 * When a commit fails (disk full, I/O error) nothing is lost: the data stays with its owner, the same groups are tried
 * again, and callers keep waiting, so nothing is acknowledged before it is on disk.
 */
import { unavailable } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import type { Instruments } from '../metrics/index.ts';

interface Batch {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: Error) => void;
  bytes: number;
  requests: number;
  /** Somebody waits for it. */
  isAwaited: boolean;
  /** Somebody waits for it before sending on. */
  isExpedited: boolean;
  openedAtMs: MonotonicMs;
  lastRequestAtMs: MonotonicMs;
}

interface CommitGroupOptions extends Instruments {
  /** Prefix of the metrics, snake_case. */
  name: string;
  /** The file or folder, for the log. */
  target: string;
  limits?: Limits['commits'];
  /**
   * Makes everything buffered at the time of the call durable. Throws or rejects when it could not; must be
   * repeatable then. Never called while an earlier call is running.
   */
  commit: () => Promise<void> | void;
}

/** Makes the writes of many callers durable together. */
export class CommitGroup {
  readonly #options: CommitGroupOptions;
  readonly #limits: Limits['commits'];
  readonly #budget: SyncBudget;
  readonly #counters: ReturnType<typeof createCounters>;
  /** Batches not on disk yet, oldest first; the last one is open for further requests. */
  #waiting: Batch[] = [];
  #open: Batch | undefined;
  #bufferedBytes = 0;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #failure: Error | undefined;
  #isStopped = false;
  /** Callers that do not wait for a disk that fails. */
  readonly #failFast = new Set<(failure: Error) => void>();

  constructor(options: CommitGroupOptions) {
    this.#options = options;
    this.#limits = options.limits ?? LIMITS.commits;
    this.#budget = new SyncBudget(options.clock, this.#limits);
    this.#counters = createCounters(options, this.#limits.bufferedBytes, () => this.#bufferedBytes);
  }

  /** The last failure, while the disk does not take data. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** True while `bytes` more would be refused; ask before buffering. */
  isFull(bytes: number): boolean {
    return this.#isStopped || this.#bufferedBytes + bytes > this.#limits.bufferedBytes;
  }

  /**
   * Says that `bytes` more are buffered; resolves after the sync of their commit, with a promise that the group shares.
   * Rejects with `unavailable` when the buffers are over their limit. Data that is not awaited is committed with the
   * next data that is, or alone after `unawaitedWindowMs`.
   */
  request(bytes: number, isAwaited = true): Promise<void> {
    if (this.isFull(bytes)) {
      this.#counters.refused.inc();
      this.#counters.queue.dropped();
      return Promise.reject(refusal(this.#failure));
    }
    this.#bufferedBytes += bytes;
    const batch = this.#open ?? this.#openBatch();
    if (isAwaited && !batch.isAwaited) this.#await(batch);
    const wasBusy = this.#isBusy(batch);
    batch.bytes += bytes;
    batch.requests++;
    batch.lastRequestAtMs = this.#options.clock.monotonicMs();
    if (!this.#failure && !this.#running && this.#isBusy(batch)) {
      if (batch.bytes >= this.#limits.largeBytes) void this.#run();
      else if (!wasBusy) this.#schedule(this.#limits.quietMs);
    }
    return batch.promise;
  }

  /**
   * As `request`, for a caller that wants an error instead of waiting until the disk works again: rejects. The data stays
   * buffered, and may be stored nevertheless.
   */
  async requestOrFail(bytes: number, isAwaited = true): Promise<void> {
    const { promise: failed, reject } = Promise.withResolvers<never>();
    this.#failFast.add(reject);
    try {
      await Promise.race([this.request(bytes, isAwaited), failed]);
    } finally {
      this.#failFast.delete(reject);
    }
  }

  /** Somebody waits for the buffered data before sending on: it is committed soon, as far as the budget allows. */
  expedite(): void {
    const batch = this.#open;
    if (!batch?.isAwaited || batch.isExpedited) return;
    batch.isExpedited = true;
    if (!this.#failure && !this.#running && !this.#isBusy(batch) && this.#budget.hasQuick())
      this.#schedule(this.#limits.quickWindowMs);
  }

  /** Commits what is buffered now. Rejects when the disk refuses. */
  async flush(): Promise<void> {
    if (this.#running) await this.#running;
    if (this.#waiting.length === 0) return;
    await this.#run();
    if (this.#failure) throw this.#failure;
  }

  /** One last commit; callers still waiting after it are refused. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    if (this.#running) await this.#running;
    await this.#run();
    this.#timer?.cancel();
    for (const batch of this.#waiting) batch.reject(this.#failure ?? new Error('stopped'));
    this.#waiting = [];
    this.#open = undefined;
  }

  #openBatch(): Batch {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // The caller may have left, and then the rejection has no handler.
    promise.catch(() => undefined);
    const nowMs = this.#options.clock.monotonicMs();
    const counts = { bytes: 0, requests: 0, isAwaited: false, isExpedited: false };
    const batch = { promise, resolve, reject, ...counts, openedAtMs: nowMs, lastRequestAtMs: nowMs };
    this.#open = batch;
    this.#waiting.push(batch);
    if (!this.#failure && !this.#running) this.#schedule(this.#budget.waitMs(batch));
    return batch;
  }

  #await(batch: Batch): void {
    batch.isAwaited = true;
    this.#budget.pauseEnds();
    if (!this.#failure && !this.#running) this.#schedule(this.#budget.waitMs(batch));
  }

  #schedule(durationMs: DurationMs): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.setTimer(durationMs, () => {
      this.#timer = undefined;
      const batch = this.#open;
      if (!this.#failure && batch && this.#isBusy(batch) && !this.#isDue(batch))
        this.#schedule(this.#limits.quietMs);
      else void this.#run();
    });
  }

  #isBusy(batch: Batch): boolean {
    return batch.requests >= this.#limits.busyRequests || batch.bytes >= this.#limits.busyBytes;
  }

  /** A busy batch waits for the pause in the burst, but not long. */
  #isDue(batch: Batch): boolean {
    const { quietMs, busyWindowMs, largeBytes } = this.#limits;
    const nowMs = this.#options.clock.monotonicMs();
    return (
      nowMs - batch.lastRequestAtMs >= quietMs ||
      nowMs - batch.openedAtMs >= busyWindowMs ||
      batch.bytes >= largeBytes
    );
  }

  #run(): Promise<void> {
    this.#running ??= this.#commitWaiting().finally(() => {
      this.#running = undefined;
      this.#scheduleNext();
    });
    return this.#running;
  }

  #scheduleNext(): void {
    const batch = this.#open;
    if (this.#failure) {
      if (!this.#isStopped) this.#schedule(this.#limits.retryMs);
      return;
    }
    if (batch?.isAwaited !== true) this.#budget.pauseBegins();
    if (batch) this.#schedule(this.#isBusy(batch) ? this.#limits.quietMs : this.#budget.waitMs(batch));
  }

  async #commitWaiting(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const covered = this.#waiting;
    if (covered.length === 0) return;
    this.#waiting = [];
    this.#open = undefined;
    this.#budget.spend(covered.some((batch) => this.#isBusy(batch)));
    try {
      await this.#options.commit();
    } catch (error) {
      this.#waiting = [...covered, ...this.#waiting];
      this.#failed(error as Error);
      return;
    }
    const { log, target } = this.#options;
    if (this.#failure) log.info('disk takes data again', { target });
    this.#failure = undefined;
    this.#counters.commits.inc();
    for (const batch of covered) {
      this.#bufferedBytes -= batch.bytes;
      batch.resolve();
    }
  }

  #failed(error: Error): void {
    const { log, name, target } = this.#options;
    this.#counters.failures.inc();
    this.#failure = error;
    for (const fail of this.#failFast) fail(error);
    log.warnLimited(`commit:${name}`, 60_000, 'commit failed, will be tried again', {
      target,
      error,
      retry_ms: this.#limits.retryMs,
      buffered_bytes: this.#bufferedBytes,
    });
  }
}

function refusal(cause: Error | undefined): Error {
  return unavailable('The disk does not take data and the buffer is full.', { cause });
}

function createCounters(
  { name, metrics }: Pick<CommitGroupOptions, 'name' | 'metrics'>,
  limitBytes: number,
  bufferedBytes: () => number,
) {
  metrics
    .gauge(`${name}_commit_buffer_limit_bytes`, `Bound of ${name}_commit_buffered_bytes.`)
    .set(limitBytes);
  metrics.measured(`${name}_commit_buffered_bytes`, 'Bytes waiting for a commit.', () => bufferedBytes());
  return {
    queue: metrics.queue(`${name}_commits`, { limit: limitBytes, depth: bufferedBytes }),
    commits: metrics.counter(`${name}_commits_total`, 'Group commits that reached the disk.'),
    failures: metrics.counter(`${name}_commit_failures_total`, 'Group commits that failed.'),
    refused: metrics.counter(`${name}_commit_refused_total`, 'Writes refused because the buffers were full.'),
  };
}

// Limits the syncs of a flash card, and so decides how long a write waits for others to share a sync.

/**
 * Waits are short while few syncs were spent lately, else most of the longest window, whose rest is for the sync itself.
 * Pauses win short windows back: under steady traffic short windows would mean more syncs, but where messages pause a
 * long window saves none.
 *
 * A caller that sends on only after its acknowledgement gets it quickly, from a second budget that fills with time. Its
 * rate bounds the cost of steady traffic, and every sync takes from it, so that the average stays the same.
 */
class SyncBudget {
  readonly #clock: Clock;
  readonly #limits: Limits['commits'];
  #shortWindows: number;
  #pausedAtMs: MonotonicMs | undefined;
  #quickSyncs: number;
  #filledMs: MonotonicMs;

  constructor(clock: Clock, limits: Limits['commits']) {
    this.#clock = clock;
    this.#limits = limits;
    this.#shortWindows = limits.shortWindows;
    this.#quickSyncs = limits.quickSyncs;
    this.#filledMs = clock.monotonicMs();
  }

  /** How long the first request of a batch waits for others. */
  waitMs({ isAwaited, isExpedited }: { isAwaited: boolean; isExpedited: boolean }): DurationMs {
    const { windowMinMs, windowMaxMs, syncAllowanceMs, quickWindowMs, unawaitedWindowMs } = this.#limits;
    if (!isAwaited) return unawaitedWindowMs;
    if (isExpedited && this.hasQuick()) return quickWindowMs;
    return this.#shortWindows >= 1 ? windowMinMs : windowMaxMs - syncAllowanceMs;
  }

  /** Whether the budget allows a quick sync now. */
  hasQuick(): boolean {
    this.#fill();
    return this.#quickSyncs >= 1;
  }

  /** A busy batch waited for no window: an import leaves devices their short ones. */
  spend(wasBusy: boolean): void {
    // After a long window no short one is spent: the part of one that was won back stays.
    if (this.#shortWindows >= 1 && !wasBusy) this.#shortWindows--;
    this.#fill();
    // A little debt, because other syncs count even when the budget is empty.
    this.#quickSyncs = Math.max(-this.#limits.shortWindows, this.#quickSyncs - 1);
  }

  /** Nobody waits from now on. */
  pauseBegins(): void {
    this.#pausedAtMs ??= this.#clock.monotonicMs();
  }

  pauseEnds(): void {
    const { shortWindows, shortWindowPauseMs } = this.#limits;
    const pausedMs = this.#clock.monotonicMs() - (this.#pausedAtMs ?? this.#clock.monotonicMs());
    this.#pausedAtMs = undefined;
    this.#shortWindows = Math.min(shortWindows, this.#shortWindows + pausedMs / shortWindowPauseMs);
  }

  #fill(): void {
    const { quickSyncs, quickSyncsPerSecond } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const wonBack = ((nowMs - this.#filledMs) * quickSyncsPerSecond) / 1_000;
    this.#quickSyncs = Math.min(quickSyncs, this.#quickSyncs + wonBack);
    this.#filledMs = nowMs;
  }
}
