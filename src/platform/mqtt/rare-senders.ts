/**
 * Tells whether one who speaks seldom may have his acknowledgement at once. Where few do, it costs few syncs of the
 * disk whatever others send in great numbers; where many do, they share one.
 */
import type { MqttLimits } from './types.ts';

export class RareSenders {
  readonly #limits: Pick<MqttLimits, 'rareMs' | 'rareSenders'>;
  /** When the last ones spoke, oldest first. */
  readonly #spokeMs: number[];

  constructor(limits: Pick<MqttLimits, 'rareMs' | 'rareSenders'>) {
    this.#limits = limits;
    this.#spokeMs = Array.from({ length: limits.rareSenders }, () => Number.NEGATIVE_INFINITY);
  }

  /** Notes a message; true when its sender and few others spoke seldom lately. */
  isOneOfFew(sender: { lastMessageMs: number }, nowMs: number): boolean {
    const isRare = nowMs - sender.lastMessageMs >= this.#limits.rareMs;
    sender.lastMessageMs = nowMs;
    if (!isRare) return false;
    this.#spokeMs.push(nowMs);
    return nowMs - (this.#spokeMs.shift() ?? nowMs) >= PERIOD_MS;
  }
}

const PERIOD_MS = 1_000;
