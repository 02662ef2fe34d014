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

/** Begins to answer devices and to send them changes; returns a function that ends it. */
export function connectConfiguration(options: {
  configuration: DeviceConfiguration;
  connectivity: Pick<Connectivity, 'handle' | 'sendOrDefer'>;
  devices: Devices;
  log: Log;
}): () => void {
  const { configuration, connectivity, devices, log } = options;

  /** The last values sent to each device, so that a kept session does not get an older message after them. */
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
