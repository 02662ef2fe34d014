/** Ends a session that sends no whole packet within one and a half keep-alive periods ([MQTT-3.1.2-24]). */
import type { DurationS, MonotonicMs } from '../../lib/time.ts';
import { type Clock, setDeadline, type Timer } from '../clock/index.ts';

/**
 * Watches until cancelled. One timer per session that is set anew only when it fires, so that a packet
 * costs nothing here.
 */
export function watchSilence(options: {
  clock: Clock;
  keepAliveS: DurationS;
  /** Monotonic time of the last packet. */
  lastPacketMs: () => MonotonicMs;
  /** True while the silence is ours: the connection is not being read. */
  isHeld: () => boolean;
  onSilent: () => void;
}): Timer {
  const { clock } = options;
  const allowedMs = options.keepAliveS * 1_500;
  let sinceMs = clock.monotonicMs();
  let timer: Timer;
  const arm = (): void => {
    sinceMs = Math.max(sinceMs, options.lastPacketMs());
    timer = setDeadline(clock, Math.max(1, sinceMs + allowedMs - clock.monotonicMs()), look);
  };
  const look = (): void => {
    if (options.isHeld()) sinceMs = clock.monotonicMs();
    const isSilent = clock.monotonicMs() - Math.max(sinceMs, options.lastPacketMs()) >= allowedMs;
    if (isSilent) options.onSilent();
    else arm();
  };
  arm();
  return { cancel: () => timer.cancel() };
}
