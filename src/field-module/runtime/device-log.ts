/** The log of one device, bounded where a flood costs least. */
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import { RepeatFilter } from '#scripting/host';
import type { DeviceLogEntry } from '../thread-messages.ts';

export type DeviceLog = ReturnType<typeof createDeviceLog>;

const SUMMARY_AFTER_MS = 1_000;

export function createDeviceLog(options: {
  clock: Clock;
  limits: Limits['module'];
  /** Size limit of one entry; longer ones are cut, as the gateway would do. */
  messageBytes: number;
  post: (entry: DeviceLogEntry) => void;
}) {
  const { clock, limits, post } = options;
  const bucket = new TokenBucket(limits.logsPerSecond, limits.logBurst, clock.monotonicMs());
  const errors = new RepeatFilter({ intervalMs: limits.sameErrorMs, most: limits.errorsRemembered });
  let dropped = 0;
  let summary: Timer | undefined;

  function tellDropped(): void {
    summary?.cancel();
    summary = undefined;
    if (dropped === 0) return;
    const message = `${dropped} log entries were dropped, because there were too many`;
    dropped = 0;
    post({ message, severity: 'warning', persist: false });
  }

  /** Dropped entries are reported before the next entry that passes, or a while later. */
  function write(entry: DeviceLogEntry): void {
    if (!bucket.take(clock.monotonicMs())) {
      dropped += 1;
      summary ??= clock.setTimer(SUMMARY_AFTER_MS, tellDropped);
      return;
    }
    tellDropped();
    post({ ...entry, message: cutToBytes(entry.message, options.messageBytes) });
  }

  return {
    write,
    /** An error of the script; the same text at most once a minute. */
    error: (message: string) => {
      const text = cutToBytes(message, options.messageBytes);
      if (errors.isNews(text, clock.monotonicMs()))
        write({ message: text, severity: 'error', persist: false });
    },
  };
}
