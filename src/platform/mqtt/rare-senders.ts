/**
 * Tells whether one who speaks seldom may have his acknowledgement at once. Where few do, it costs few syncs of the
 * disk whatever others send in great numbers; where many do, they share one.
 */
import type { MonotonicMs } from '../../lib/time.ts';
import type { MqttLimits } from './types.ts';

export type IsOneOfFew = ReturnType<typeof rareSenders>;

/** Answers for each message, which it notes, whether its sender and few others spoke seldom lately. */
export function rareSenders(limits: Pick<MqttLimits, 'rareMs' | 'rareSenders' | 'rareWindowMs'>) {
  /** When the last ones spoke, oldest first. */
  const spokeMs: MonotonicMs[] = Array.from({ length: limits.rareSenders }, () => Number.NEGATIVE_INFINITY);
  return (sender: { lastMessageMs: MonotonicMs }, nowMs: MonotonicMs): boolean => {
    const isRare = nowMs - sender.lastMessageMs >= limits.rareMs;
    sender.lastMessageMs = nowMs;
    if (!isRare) return false;
    spokeMs.push(nowMs);
    return nowMs - (spokeMs.shift() ?? nowMs) >= limits.rareWindowMs;
  };
}
