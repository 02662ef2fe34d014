/**
 * ONLINE and OFFLINE. A device with a connection of its own is ONLINE while a session of its hardware is open, and for a
 * grace period after the last one, because clients reconnect after seconds. A carried device is ONLINE while its module is
 * and the device recently sent something on its channel.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { type Clock, setDeadline, type Timer } from '../../platform/clock/index.ts';
import type { Device, Devices } from '../devices/index.ts';

interface Hearing {
  atMs: MonotonicMs;
  timer: Timer;
}

interface PresenceOptions {
  devices: Devices;
  clock: Clock;
  limits: Limits['connectivity'];
}

export class Presence {
  readonly #options: PresenceOptions;
  readonly #sessionCounts = new Map<string, number>();
  readonly #grace = new Map<string, Timer>();
  readonly #lastMessages = new Map<string, Hearing>();

  constructor(options: PresenceOptions) {
    this.#options = options;
  }

  sessionOpened(hardwareId: string): void {
    this.#sessionCounts.set(hardwareId, (this.#sessionCounts.get(hardwareId) ?? 0) + 1);
    this.#grace.get(hardwareId)?.cancel();
    this.#grace.delete(hardwareId);
    this.#setHardware(hardwareId, 'ONLINE');
  }

  sessionClosed(hardwareId: string): void {
    const remaining = (this.#sessionCounts.get(hardwareId) ?? 1) - 1;
    if (remaining > 0) {
      this.#sessionCounts.set(hardwareId, remaining);
      return;
    }
    this.#sessionCounts.delete(hardwareId);
    const timer = setDeadline(this.#options.clock, this.#options.limits.graceMs, () => {
      this.#grace.delete(hardwareId);
      this.#setHardware(hardwareId, 'OFFLINE');
    });
    this.#grace.set(hardwareId, timer);
  }

  /** Notes a message that shows that the device is alive. */
  noteMessage(device: Device): void {
    if (!isCarried(device) || !this.#isModuleOnline(device)) return;
    const last = this.#lastMessages.get(device.id);
    const atMs = this.#options.clock.monotonicMs();
    if (last) last.atMs = atMs;
    else
      this.#lastMessages.set(device.id, {
        atMs,
        timer: this.#startTimer(device.id, this.#options.limits.silenceMs),
      });
    this.#options.devices.setConnectivity(device.id, 'ONLINE');
  }

  /** Makes a carried device OFFLINE at once, because it will send nothing. */
  silence(device: Device): void {
    if (isCarried(device)) this.#silence(device.id);
  }

  forget(device: Device): void {
    this.#lastMessages.get(device.id)?.timer.cancel();
    this.#lastMessages.delete(device.id);
  }

  /** Ends all timers; statuses stay as they are. */
  stop(): void {
    for (const timer of this.#grace.values()) timer.cancel();
    for (const { timer } of this.#lastMessages.values()) timer.cancel();
    this.#grace.clear();
    this.#lastMessages.clear();
  }

  #isModuleOnline({ communication }: Device): boolean {
    return (
      communication.upstreamId !== undefined &&
      this.#options.devices.connectivity(communication.upstreamId) === 'ONLINE'
    );
  }

  #setHardware(hardwareId: string, status: 'ONLINE' | 'OFFLINE'): void {
    for (const device of this.#options.devices.atHardware(hardwareId)) {
      if (!isCarried(device)) this.#options.devices.setConnectivity(device.id, status);
      else if (status === 'OFFLINE') this.#silence(device.id);
    }
  }

  #silence(deviceId: string): void {
    this.#lastMessages.get(deviceId)?.timer.cancel();
    this.#lastMessages.delete(deviceId);
    this.#options.devices.setConnectivity(deviceId, 'OFFLINE');
  }

  #startTimer(deviceId: string, durationMs: DurationMs): Timer {
    return setDeadline(this.#options.clock, durationMs, () => {
      const last = this.#lastMessages.get(deviceId);
      if (!last) return;
      const remainingMs = last.atMs + this.#options.limits.silenceMs - this.#options.clock.monotonicMs();
      if (remainingMs > 0) last.timer = this.#startTimer(deviceId, remainingMs);
      else this.#silence(deviceId);
    });
  }
}

/** Whether a module carries the device, on a channel of the module's hardware. */
export function isCarried({ communication }: Device): boolean {
  return communication.upstreamId !== undefined;
}
