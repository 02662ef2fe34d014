/** When maintenance of the store is due, and its log. */
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Work } from './state.ts';

const HOUR_MS = 3_600_000;

/** Debug lines that show the store at work, for example to `npm run check -- faults`. */
export class MaintenanceLog {
  readonly #log: Log;
  #present: Work | undefined;
  #isDone = false;

  constructor(log: Log) {
    this.#log = log;
  }

  begins(work: Work): void {
    if (work === this.#present) return;
    this.#present = work;
    this.#log.debug('telemetry store begins its work', { activity: work });
  }

  ends(): void {
    if (this.#present === undefined) return;
    this.#log.debug('telemetry store has finished its work', { activity: this.#present });
    this.#present = undefined;
    this.#isDone = true;
  }

  /** True once after work was done. */
  takeDone(): boolean {
    const wasDone = this.#isDone;
    this.#isDone = false;
    return wasDone;
  }
}

export class DueTimes {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #limits: Pick<Limits['telemetry'], 'openSamples' | 'sealIntervalMs'>;
  #sealedAtMs: MonotonicMs;
  #expiredAtMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(
    clock: Pick<Clock, 'monotonicMs'>,
    limits: Pick<Limits['telemetry'], 'openSamples' | 'sealIntervalMs'>,
  ) {
    this.#clock = clock;
    this.#limits = limits;
    this.#sealedAtMs = clock.monotonicMs();
  }

  seal(openSamples: number): boolean {
    const { openSamples: most, sealIntervalMs } = this.#limits;
    return (
      openSamples >= most ||
      (openSamples > 0 && this.#clock.monotonicMs() - this.#sealedAtMs >= sealIntervalMs)
    );
  }

  sealed(): void {
    this.#sealedAtMs = this.#clock.monotonicMs();
  }

  /** True once an hour. */
  expiry(): boolean {
    if (this.#clock.monotonicMs() - this.#expiredAtMs < HOUR_MS) return false;
    this.#expiredAtMs = this.#clock.monotonicMs();
    return true;
  }
}
