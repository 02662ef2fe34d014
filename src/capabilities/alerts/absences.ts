/** Devices that are offline, and since when by the monotonic clock, which steps of the wall clock do not affect. */
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { ConnectivityStatus, Device, Devices } from '../devices/index.ts';

export class Absences {
  readonly #options: { clock: Clock; devices: Devices; offlineAfterMs: DurationMs };
  /** Monotonic start of the absence, by device id. */
  readonly #sinceMs = new Map<string, number>();

  constructor(options: { clock: Clock; devices: Devices; offlineAfterMs: DurationMs }) {
    this.#options = options;
  }

  /** Absences begin now for devices that are offline at the start, because nobody knows since when they are. */
  start(): void {
    const { devices } = this.#options;
    for (const device of devices.all()) this.note(device, devices.connectivity(device.id));
  }

  note(device: Device, status: ConnectivityStatus): void {
    // The gateway's own device and its built-in module are parts of it.
    if (device.communication.type === 'MQTT_V1_LOCALHOST') return;
    if (status === 'ONLINE') this.#sinceMs.delete(device.id);
    else if (!this.#sinceMs.has(device.id)) this.#sinceMs.set(device.id, this.#options.clock.monotonicMs());
  }

  forget(deviceId: string): void {
    this.#sinceMs.delete(deviceId);
  }

  /** Devices that are away for too long, with the length of their absence. */
  *overdue(): Iterable<{ device: Device; awayMs: DurationMs }> {
    const { clock, devices, offlineAfterMs } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const [deviceId, sinceMs] of this.#sinceMs) {
      const device = devices.get(deviceId);
      if (device && nowMs - sinceMs >= offlineAfterMs) yield { device, awayMs: nowMs - sinceMs };
    }
  }
}
