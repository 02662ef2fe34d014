/**
 * ONLINE and OFFLINE. A device with a connection of its own is ONLINE
 * while a session of its hardware is open, and for a grace period after the last one, because clients
 * reconnect after seconds. A device that a module carries is ONLINE while the module is and the device was
 * heard on its channel lately.
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
  readonly #hearings = new Map<string, Hearing>();

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

  /** A message that shows the device alive. */
  noteMessage(device: Device): void {
    if (!isCarried(device) || !this.#isModuleOnline(device)) return;
    const hearing = this.#hearings.get(device.id);
    const atMs = this.#options.clock.monotonicMs();
    if (hearing) hearing.atMs = atMs;
    else this.#hearings.set(device.id, { atMs, timer: this.#arm(device.id, this.#options.limits.silenceMs) });
    this.#options.devices.setConnectivity(device.id, 'ONLINE');
  }

  /** A carried device that will not be heard: OFFLINE at once. */
  silence(device: Device): void {
    if (isCarried(device)) this.#silence(device.id);
  }

  forget(device: Device): void {
    this.#hearings.get(device.id)?.timer.cancel();
    this.#hearings.delete(device.id);
  }

  /** Ends all timers; statuses stay as they are. */
  stop(): void {
    for (const timer of this.#grace.values()) timer.cancel();
    for (const { timer } of this.#hearings.values()) timer.cancel();
    this.#grace.clear();
    this.#hearings.clear();
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
    this.#hearings.get(deviceId)?.timer.cancel();
    this.#hearings.delete(deviceId);
    this.#options.devices.setConnectivity(deviceId, 'OFFLINE');
  }

  #arm(deviceId: string, durationMs: DurationMs): Timer {
    return setDeadline(this.#options.clock, durationMs, () => {
      const hearing = this.#hearings.get(deviceId);
      if (!hearing) return;
      const remainingMs = hearing.atMs + this.#options.limits.silenceMs - this.#options.clock.monotonicMs();
      if (remainingMs > 0) hearing.timer = this.#arm(deviceId, remainingMs);
      else this.#silence(deviceId);
    });
  }
}

/** A module speaks for it on a channel of the module's own hardware. */
export function isCarried({ communication }: Device): boolean {
  return communication.upstreamId !== undefined;
}
