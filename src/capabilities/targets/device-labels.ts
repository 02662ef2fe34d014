/** The labels of a device's samples. */
import type { Devices } from '../devices/index.ts';
import type { DeviceLabels } from './model.ts';

/** Undefined when the device was deleted. */
export function labelsOf(
  deviceId: string,
  { devices, site }: { devices: Pick<Devices, 'get' | 'manifest'>; site: () => { name: string } },
): { slug: string; labels: DeviceLabels } | undefined {
  const device = devices.get(deviceId);
  if (!device) return undefined;
  const { display_name: blueprint, implements: profiles } = devices.manifest(device);
  return {
    slug: device.slug,
    labels: { site: site().name, device: device.slug, blueprint, profile: profiles[0] },
  };
}
