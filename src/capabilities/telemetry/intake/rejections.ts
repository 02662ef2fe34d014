/** Reports dropped values: once per device, attribute, reason and hour, and a limited number per device. */
import { ReportThrottle } from '../../../lib/report-throttle.ts';
import type { Emitter } from '../../../lib/emitter.ts';
import { LIMITS } from '../../../lib/limits.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { Metrics } from '../../../platform/metrics/index.ts';
import type { Device } from '../../devices/index.ts';
import { REJECTION_REASONS, type RejectionReason, type TelemetryEvents } from './events.ts';

export class Rejections {
  readonly #events: Emitter<TelemetryEvents>;
  readonly #clock: Clock;
  readonly #dropped: { inc: (labels: { reason: string }) => void };
  readonly #reports = new ReportThrottle({
    intervalMs: LIMITS.devices.reportIntervalMs,
    perOwner: LIMITS.devices.reportsPerDevice,
    owners: LIMITS.devices.reportedDevices,
  });

  constructor(options: { events: Emitter<TelemetryEvents>; clock: Clock; metrics: Metrics }) {
    this.#events = options.events;
    this.#clock = options.clock;
    this.#dropped = options.metrics.counter(
      'telemetry_rejected_total',
      'Values and messages that were dropped or changed.',
      { reason: REJECTION_REASONS },
    );
  }

  report(device: Device, attribute: string | undefined, reason: RejectionReason, sentence: string): void {
    this.#dropped.inc({ reason });
    const key = `${reason} ${attribute ?? ''}`;
    const message = this.#reports.report(device.id, key, sentence, this.#clock.monotonicMs());
    if (message !== undefined)
      this.#events.emit('attribute_rejected', { device, attribute, reason, message });
  }
}
