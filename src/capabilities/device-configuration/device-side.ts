/**
 * Configuration together with the device: a running device may refuse values before they are
 * stored (docs/interface/lua-devices.md#configuration), and may read values from its hardware. A device that does not run
 * is not asked.
 */
import { unprocessable } from '../../lib/errors.ts';
import type { Role } from '../../lib/role.ts';
import type { Device } from '../devices/index.ts';
import type { ConfigurationChange, DeviceConfiguration } from './service.ts';

export function createDeviceSideConfiguration(service: DeviceConfiguration) {
  /** Last change of each group: changes are made in turn, so that the device judges values as they will be stored. */
  const last = new Map<string, Promise<unknown>>();

  function inTurn<Result>(device: Device, group: string, run: () => Promise<Result>): Promise<Result> {
    const key = `${device.id} ${group}`;
    const result = (last.get(key) ?? Promise.resolve()).then(run);
    // The next change runs however this one ends.
    const ended = result.catch(() => undefined);
    last.set(key, ended);
    void ended.then(() => {
      if (last.get(key) === ended) last.delete(key);
    });
    return result;
  }

  async function judge(
    device: Device,
    group: string,
    role: Role,
    change: ConfigurationChange | 'reset all',
  ): Promise<void> {
    const values = service.preview(device, group, role, change);
    const refusal = values && (await service.side?.judge(device, group, values));
    if (refusal === undefined) return;
    const message = refusal === '' ? 'The device refuses these values.' : refusal;
    throw unprocessable('configuration_refused', message);
  }

  return {
    /** As the service's `get`, with values that the device reads in place of stored ones. */
    get: async (device: Device, group: string, role: Role, names?: readonly string[]) => {
      const stored = service.get(device, group, role, names);
      const read = await service.side?.read(device, group);
      return read === undefined ? stored : service.withRead(device, group, stored, read, names);
    },
    /** As the service's. @throws configuration_refused and device_not_found, too */
    update: (device: Device, group: string, role: Role, change: ConfigurationChange) =>
      inTurn(device, group, async () => {
        await judge(service.current(device), group, role, change);
        // Meanwhile the device may have got another blueprint, or was deleted.
        return service.update(service.current(device), group, role, change);
      }),
    /** As the service's. @throws configuration_refused and device_not_found, too */
    resetAll: (device: Device, group: string, role: Role) =>
      inTurn(device, group, async () => {
        await judge(service.current(device), group, role, 'reset all');
        return service.resetAll(service.current(device), group, role);
      }),
  };
}
