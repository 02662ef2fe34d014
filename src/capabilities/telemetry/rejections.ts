/** Tells of dropped values: once per device, attribute, reason and hour, and so many per device. */
import { createComplaints } from '../../lib/complaints.ts';
import type { Emitter } from '../../lib/emitter.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Device } from '../devices/index.ts';
import type { RejectionReason, TelemetryEvents } from './model.ts';

export interface Rejections {
  report(device: Device, attribute: string | undefined, reason: RejectionReason, message: string): void;
}

export function createRejections(options: {
  events: Emitter<TelemetryEvents>;
  clock: Clock;
  metrics: Metrics;
}): Rejections {
  const { events, clock } = options;
  const complaints = createComplaints({
    intervalMs: LIMITS.devices.complaintIntervalMs,
    perOwner: LIMITS.devices.complaintsPerDevice,
  });
  const dropped = options.metrics.counter(
    'telemetry_rejected_total',
    'Values and messages that were dropped or changed.',
    ['reason'],
  );
  return {
    report: (device, attribute, reason, sentence) => {
      dropped.inc({ reason });
      const message = complaints.tell(
        device.id,
        `${reason} ${attribute ?? ''}`,
        sentence,
        clock.monotonicMs(),
      );
      if (message !== undefined) events.emit('attribute_rejected', { device, attribute, reason, message });
    },
  };
}
