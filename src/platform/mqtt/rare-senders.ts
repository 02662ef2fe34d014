/**
 * Tells whether one who speaks seldom may have his acknowledgement at once. Where few do, it costs few syncs of the
 * disk whatever others send in great numbers; where many do, they share one.
 */
import type { MonotonicMs } from '../../lib/time.ts';
import type { MqttLimits } from './types.ts';

export class RareSenders {
  readonly #limits: Pick<MqttLimits, 'rareMs' | 'rareSenders' | 'rareWindowMs'>;
  /** When the last ones spoke, oldest first. */
  readonly #spokeMs: MonotonicMs[];

  constructor(limits: Pick<MqttLimits, 'rareMs' | 'rareSenders' | 'rareWindowMs'>) {
    this.#limits = limits;
    this.#spokeMs = Array.from({ length: limits.rareSenders }, () => Number.NEGATIVE_INFINITY);
  }

  /** Notes a message; true when its sender and few others spoke seldom lately. */
  isOneOfFew(sender: { lastMessageMs: MonotonicMs }, nowMs: MonotonicMs): boolean {
    const { rareMs, rareWindowMs } = this.#limits;
    const isRare = nowMs - sender.lastMessageMs >= rareMs;
    sender.lastMessageMs = nowMs;
    if (!isRare) return false;
    this.#spokeMs.push(nowMs);
    return nowMs - (this.#spokeMs.shift() ?? nowMs) >= rareWindowMs;
  }
}
