/**
 * Whether the clock of this board can be believed, judged by what the gateway said of its own. A board without a battery
 * begins with the time of its last shutdown: values stamped by it would pass for old ones, or be dropped as such.
 */
import type { Clock } from '../../platform/clock/index.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';

export class GatewayTime {
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly #toleranceMs: DurationMs;
  /** What the gateway's clock showed when. */
  #told: { nowMs: EpochMs; atMs: MonotonicMs } | undefined;

  constructor(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>, toleranceMs: DurationMs) {
    this.#clock = clock;
    this.#toleranceMs = toleranceMs;
  }

  /** Undefined: the gateway does not know it either. */
  told(nowMs: EpochMs | undefined): void {
    this.#told = nowMs === undefined ? undefined : { nowMs, atMs: this.#clock.monotonicMs() };
  }

  /** By how much this board is ahead of the gateway; 0 as long as nothing is known. */
  get aheadMs(): DurationMs {
    if (this.#told === undefined) return 0;
    const { nowMs, atMs } = this.#told;
    return this.#clock.wallMs() - (nowMs + this.#clock.monotonicMs() - atMs);
  }

  get isBelieved(): boolean {
    return Math.abs(this.aheadMs) <= this.#toleranceMs;
  }
}
