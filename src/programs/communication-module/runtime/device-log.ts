/** The log of one device, bounded where a flood costs least. */
import type { Limits } from '../../../lib/limits.ts';
import { cutToBytes } from '../../../lib/text.ts';
import { TokenBucket } from '../../../lib/token-bucket.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { DeviceLogEntry } from '../thread-messages.ts';

export type DeviceLog = ReturnType<typeof createDeviceLog>;

export function createDeviceLog(options: {
  clock: Clock;
  limits: Limits['module'];
  /** Of one entry; more is cut, as the gateway would. */
  messageBytes: number;
  post: (entry: DeviceLogEntry) => void;
}) {
  const { clock, limits, post } = options;
  const bucket = new TokenBucket(limits.logsPerSecond, limits.logBurst, clock.monotonicMs());
  const loggedAtMs = new Map<string, number>();
  let dropped = 0;

  /** What is dropped is counted in the next entry that passes. */
  function write(entry: DeviceLogEntry): void {
    if (!bucket.take(clock.monotonicMs())) {
      dropped += 1;
      return;
    }
    if (dropped > 0) {
      const message = `${dropped} log entries were dropped, because there were too many`;
      post({ message, severity: 'warning', persist: false });
      dropped = 0;
    }
    post({ ...entry, message: cutToBytes(entry.message, options.messageBytes) });
  }

  return {
    write,
    /** An error of the script; the same text at most once a minute. */
    error: (message: string) => {
      const nowMs = clock.monotonicMs();
      if (nowMs - (loggedAtMs.get(message) ?? Number.NEGATIVE_INFINITY) < limits.sameErrorMs) return;
      // Texts with numbers in them are all different; old ones make room.
      if (loggedAtMs.size >= limits.errorsRemembered) loggedAtMs.clear();
      loggedAtMs.set(message, nowMs);
      write({ message, severity: 'error', persist: false });
    },
  };
}
