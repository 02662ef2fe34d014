/** Events of telemetry for the rest of the gateway. */
import type { Emitter } from '../../../lib/emitter.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { ReportThrottle } from '../../../lib/report-throttle.ts';
import type { Role } from '../../../lib/role.ts';
import type { EpochMs, EpochS } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { Metrics } from '../../../platform/metrics/index.ts';
import type { TelemetryValue } from '../../../protocol/telemetry.ts';
import type { Device } from '../../devices/index.ts';

/** The alerts that the newest values of a device report. */
export interface ReportedAlerts {
  /** By name: time of the measurement that says so, and the least role that may read it. */
  raised: ReadonlyMap<string, { readonly sinceS: EpochS; readonly readRole: Role }>;
  /** Time of the newest value that reports alerts. */
  timestampS: EpochS;
}

/** One accepted attribute of a message. */
export interface ReceivedValue {
  value: TelemetryValue;
  /** False when a newer sample of the attribute is known: history, not news. */
  isLatest: boolean;
}

const REJECTION_REASONS = [
  'wrong_type',
  'not_in_enum',
  'too_large',
  'schema_mismatch',
  'undeclared',
  'future',
  'late',
  'not_a_number',
  'too_many',
] as const;
type RejectionReason = (typeof REJECTION_REASONS)[number];

/** Events of telemetry. */
export interface TelemetryEvents {
  /** After the latest values were updated; the sync of the disk may still be running. */
  telemetry_received: {
    device: Device;
    timestampS: EpochS;
    receivedAtMs: EpochMs;
    /** By declared attribute name, `alerts` included. Never empty. */
    values: ReadonlyMap<string, ReceivedValue>;
  };
  /** A message of the device reported its alerts; `Telemetry.alerts` returns the present ones. */
  alerts_told: { device: Device };
  /** An import stored values of any time, all of them or those before it failed. */
  history_imported: Record<string, never>;
  /**
   * A value or message was dropped or changed; at most once per device, attribute, reason and hour.
   * `attribute` is undefined when the whole message is meant.
   */
  attribute_rejected: {
    device: Device;
    attribute: string | undefined;
    reason: RejectionReason;
    message: string;
  };
}

// Reports dropped values: once per device, attribute, reason and hour, and a limited number per device.

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
