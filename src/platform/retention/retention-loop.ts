import type { DurationMs } from '../../lib/time.ts';
import { type Clock, createStampCorrector, type StampCorrection, type Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';

const TOLD_INTERVAL_MS = 3_600_000;

/** Disk room that kept rows share with more important data. */
export interface ScarceRoom {
  readonly isScarce: boolean;
  /** Called every few seconds while it is scarce; returns the unsubscribe. */
  onScarce(listener: () => void): () => void;
}

interface RetentionLoopOptions {
  clock: Clock;
  log: Log;
  /** Counts batches that failed. */
  failures: ReturnType<Metrics['counter']>;
  /** Name of the rows in the log, for example `audit trail`. */
  what: string;
  /** Between two batches while there is more to do, and between two rounds. */
  limits: { retentionPauseMs: DurationMs; retentionIntervalMs: DurationMs };
  /** While it is scarce, the next batch comes after a pause. */
  room?: Pick<ScarceRoom, 'onScarce'> | undefined;
  /** One batch of bounded size; true when there may be more to delete. */
  deleteBatch: () => boolean;
  /** Corrects stamps that a wrong clock gave, at the start and after each correction of the clock. */
  restamp?: (correction: StampCorrection) => void;
  /** After a failed batch: what was counted in memory may not be so. */
  onFailure?: () => void;
}

/**
 * The loop that keeps stored rows in bounds: small batches with pauses, so that nobody waits for them. Times of a wrong
 * clock are corrected before rows are deleted by them. A failure is counted, logged once an hour, and tried again.
 */
export class RetentionLoop {
  readonly #options: RetentionLoopOptions;
  readonly #corrector: ReturnType<typeof createStampCorrector>;
  #stopWatchingRoom: (() => void) | undefined;
  #isRunning = false;
  #timer: Timer | undefined;

  constructor(options: RetentionLoopOptions) {
    this.#options = options;
    this.#corrector = createStampCorrector(options.clock, () => this.#corrected());
  }

  /** The first batch comes after one pause. */
  start(): void {
    this.#isRunning = true;
    this.#stopWatchingRoom = this.#options.room?.onScarce(() => this.expedite());
    this.#restamp();
    this.expedite();
  }

  /** There is work to do now: the next batch comes after one pause. */
  expedite(): void {
    this.#schedule(this.#options.limits.retentionPauseMs);
  }

  stop(): void {
    this.#isRunning = false;
    this.#timer?.cancel();
    this.#stopWatchingRoom?.();
    this.#corrector.stop();
  }

  /** The correction of stamps as of now; undefined while the clock is not set. */
  correction(): StampCorrection | undefined {
    return this.#corrector.correction();
  }

  #corrected(): void {
    this.#restamp();
    if (this.#isRunning) this.expedite();
  }

  #restamp(): void {
    const { restamp } = this.#options;
    const correction = this.correction();
    if (restamp && correction) this.#attempt(() => restamp(correction));
  }

  #run(): void {
    let hasMore = false;
    this.#attempt(() => {
      hasMore = this.#options.deleteBatch();
    });
    const { retentionPauseMs, retentionIntervalMs } = this.#options.limits;
    this.#schedule(hasMore ? retentionPauseMs : retentionIntervalMs);
  }

  #schedule(durationMs: DurationMs): void {
    this.#timer?.cancel();
    this.#timer = this.#isRunning ? this.#options.clock.setTimer(durationMs, () => this.#run()) : undefined;
  }

  #attempt(work: () => void): void {
    const { failures, log, onFailure, what } = this.#options;
    try {
      work();
    } catch (error) {
      failures.inc();
      onFailure?.();
      const sentence = `retention of ${what} failed, will be tried again`;
      log.warnLimited(sentence, TOLD_INTERVAL_MS, sentence, { error });
    }
  }
}
