/**
 * Configuration for devices that speak MQTT themselves (docs/interface/mqtt-devices.md#configuration): all groups,
 * when the device asks and after every change. The gateway's store is the truth; a device that was away asks when it
 * is back.
 */
import { messageOf } from '../../lib/errors.ts';
import type { Log } from '../../platform/log/index.ts';
import { CONFIGURATION_SUBJECT } from '../../protocol/device-topic.ts';
import type { Connectivity } from '../connectivity/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { DeviceConfiguration } from './service.ts';

/** Answers devices from now on and sends them changes; returns what ends that. */
export function connectConfiguration(options: {
  configuration: DeviceConfiguration;
  connectivity: Pick<Connectivity, 'handle' | 'sendOrDefer'>;
  devices: Devices;
  log: Log;
}): () => void {
  const { configuration, connectivity, devices, log } = options;

  /** What each device was sent last: an older message that a kept session did not acknowledge must not follow it. */
  const newest = new Map<string, object>();

  function send(device: Device): void {
    // A script gets its configuration from the module that runs it.
    if (device.type === 'LUA') return;
    const values = configuration.valuesForDevice(device);
    newest.set(device.id, values);
    connectivity
      .sendOrDefer(
        `configuration ${device.id}`,
        () => sendAgain(device.id),
        device,
        CONFIGURATION_SUBJECT,
        JSON.stringify(values),
        () => newest.get(device.id) === values,
      )
      .catch((error: unknown) =>
        log.warn('configuration not sent', { device_id: device.id, reason: messageOf(error) }),
      );
  }

  function sendAgain(deviceId: string): void {
    const device = devices.get(deviceId);
    if (device) send(device);
  }

  connectivity.handle('configuration_read', ({ device }) => send(device));
  const owner = 'device-configuration';
  const ends = [
    configuration.events.on('configuration_changed', owner, ({ device }) => send(device)),
    devices.events.on('blueprint_assigned', owner, ({ device }) => send(device)),
    devices.events.on('device_deleted', owner, ({ device }) => void newest.delete(device.id)),
  ];
  return () => {
    for (const end of ends) end();
  };
}
