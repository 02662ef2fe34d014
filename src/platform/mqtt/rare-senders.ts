/**
 * Whether a client that sends seldom gets its acknowledgement at once. While few clients do, that costs few syncs of
 * the disk, however much others send; where many do, they share a sync.
 */
import type { MonotonicMs } from '../../lib/time.ts';
import type { MqttLimits } from './types.ts';

export type IsOneOfFew = ReturnType<typeof rareSenders>;

/** Notes each message; answers true when its sender and few others sent seldom lately. */
export function rareSenders(limits: Pick<MqttLimits, 'rareMs' | 'rareSenders' | 'rareWindowMs'>) {
  /** When rare senders sent last, oldest first. */
  const spokeMs: MonotonicMs[] = Array.from({ length: limits.rareSenders }, () => Number.NEGATIVE_INFINITY);
  return (sender: { lastMessageMs: MonotonicMs }, nowMs: MonotonicMs): boolean => {
    const isRare = nowMs - sender.lastMessageMs >= limits.rareMs;
    sender.lastMessageMs = nowMs;
    if (!isRare) return false;
    spokeMs.push(nowMs);
    return nowMs - (spokeMs.shift() ?? nowMs) >= limits.rareWindowMs;
  };
}
