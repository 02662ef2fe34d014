/**
 * ONLINE and OFFLINE. A device with a connection of its own is ONLINE
 * while a session of its hardware is open, and for a grace period after the last one, because clients
 * reconnect after seconds. A device that a module carries is ONLINE while the module is and the device was
 * heard on its channel lately.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Device, Devices } from '../devices/index.ts';

export interface Presence {
  sessionOpened(hardwareId: string): void;
  sessionClosed(hardwareId: string): void;
  /** A message that shows the device alive. */
  heard(device: Device): void;
  /** A carried device that will not be heard: OFFLINE at once. */
  silence(device: Device): void;
  forget(device: Device): void;
  /** Ends all timers; statuses stay as they are. */
  stop(): void;
}

interface Hearing {
  atMs: number;
  timer: Timer;
}

export function createPresence(options: {
  devices: Devices;
  clock: Clock;
  limits: Limits['connectivity'];
}): Presence {
  const { devices, clock, limits } = options;
  const sessionCounts = new Map<string, number>();
  const grace = new Map<string, Timer>();
  const hearings = new Map<string, Hearing>();

  const isModuleOnline = ({ communication }: Device): boolean =>
    communication.upstreamId !== undefined && devices.connectivity(communication.upstreamId) === 'ONLINE';

  function setHardware(hardwareId: string, status: 'ONLINE' | 'OFFLINE'): void {
    for (const device of devices.atHardware(hardwareId)) {
      if (!isCarried(device)) devices.setConnectivity(device.id, status);
      else if (status === 'OFFLINE') silence(device.id);
    }
  }

  function silence(deviceId: string): void {
    hearings.get(deviceId)?.timer.cancel();
    hearings.delete(deviceId);
    devices.setConnectivity(deviceId, 'OFFLINE');
  }

  function arm(deviceId: string, durationMs: number): Timer {
    return clock.setTimer(durationMs, () => {
      const hearing = hearings.get(deviceId);
      if (!hearing) return;
      const remainingMs = hearing.atMs + limits.silenceMs - clock.monotonicMs();
      if (remainingMs > 0) hearing.timer = arm(deviceId, remainingMs);
      else silence(deviceId);
    });
  }

  return {
    sessionOpened: (hardwareId) => {
      sessionCounts.set(hardwareId, (sessionCounts.get(hardwareId) ?? 0) + 1);
      grace.get(hardwareId)?.cancel();
      grace.delete(hardwareId);
      setHardware(hardwareId, 'ONLINE');
    },
    sessionClosed: (hardwareId) => {
      const remaining = (sessionCounts.get(hardwareId) ?? 1) - 1;
      if (remaining > 0) {
        sessionCounts.set(hardwareId, remaining);
        return;
      }
      sessionCounts.delete(hardwareId);
      const timer = clock.setTimer(limits.graceMs, () => {
        grace.delete(hardwareId);
        setHardware(hardwareId, 'OFFLINE');
      });
      grace.set(hardwareId, timer);
    },
    heard: (device) => {
      if (!isCarried(device) || !isModuleOnline(device)) return;
      const hearing = hearings.get(device.id);
      const atMs = clock.monotonicMs();
      if (hearing) hearing.atMs = atMs;
      else hearings.set(device.id, { atMs, timer: arm(device.id, limits.silenceMs) });
      devices.setConnectivity(device.id, 'ONLINE');
    },
    silence: (device) => {
      if (isCarried(device)) silence(device.id);
    },
    forget: (device) => {
      hearings.get(device.id)?.timer.cancel();
      hearings.delete(device.id);
    },
    stop: () => {
      for (const timer of grace.values()) timer.cancel();
      for (const { timer } of hearings.values()) timer.cancel();
      grace.clear();
      hearings.clear();
    },
  };
}

/** A module speaks for it on a channel of the module's own hardware. */
export function isCarried({ communication }: Device): boolean {
  return communication.upstreamId !== undefined;
}
