/** Tells of dropped values, at most once per device, attribute, reason and hour. */
import type { Emitter } from '../../lib/emitter.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Device } from '../devices/index.ts';
import type { RejectionReason, TelemetryEvents } from './model.ts';

const INTERVAL_MS = 3_600_000;
/** G: a device that invents names must not fill the memory; forgetting only repeats a warning. */
const KEYS_MAX = 20_000;

export interface Rejections {
  report(device: Device, attribute: string | undefined, reason: RejectionReason, message: string): void;
}

export function createRejections(options: {
  events: Emitter<TelemetryEvents>;
  clock: Clock;
  metrics: Metrics;
}): Rejections {
  const { events, clock } = options;
  const toldUntilMs = new Map<string, number>();
  const dropped = options.metrics.counter(
    'telemetry_rejected_total',
    'Values and messages that were dropped or changed.',
    ['reason'],
  );
  return {
    report: (device, attribute, reason, message) => {
      dropped.inc({ reason });
      const key = `${device.id} ${reason} ${attribute ?? ''}`;
      const nowMs = clock.monotonicMs();
      if (nowMs < (toldUntilMs.get(key) ?? 0)) return;
      if (toldUntilMs.size >= KEYS_MAX) toldUntilMs.clear();
      toldUntilMs.set(key, nowMs + INTERVAL_MS);
      events.emit('attribute_rejected', { device, attribute, reason, message });
    },
  };
}
