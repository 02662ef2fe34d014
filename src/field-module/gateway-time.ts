/**
 * Whether the clock of this board can be believed, judged by the time that the gateway sent. A board without a battery
 * begins with the time of its last shutdown: values stamped by it would pass for old ones, or be dropped as such.
 */
import type { Clock } from '../platform/clock/index.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../lib/time.ts';

export class GatewayTime {
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly #toleranceMs: DurationMs;
  /** The time that the gateway sent last, and when it arrived. */
  #told: { nowMs: EpochMs; atMs: MonotonicMs } | undefined;

  constructor(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>, toleranceMs: DurationMs) {
    this.#clock = clock;
    this.#toleranceMs = toleranceMs;
  }

  /** Takes the time of the gateway; undefined: its clock is not set. */
  told(nowMs: EpochMs | undefined): void {
    this.#told = nowMs === undefined ? undefined : { nowMs, atMs: this.#clock.monotonicMs() };
  }

  /** How far this board is ahead of the gateway; 0 while the gateway's time is unknown. */
  get aheadMs(): DurationMs {
    if (this.#told === undefined) return 0;
    const { nowMs, atMs } = this.#told;
    return this.#clock.wallMs() - (nowMs + this.#clock.monotonicMs() - atMs);
  }

  get isBelieved(): boolean {
    return Math.abs(this.aheadMs) <= this.#toleranceMs;
  }
}
