import { unprocessable } from '../../lib/errors.ts';
import { parseWritableJson } from '../../lib/json.ts';
import type { Role } from '../../lib/role.ts';
import { type Call, route, type Route } from '../../platform/http/index.ts';
import { type Device, devicePaths, type Devices } from '../devices/index.ts';
import { configurationShape, getQuery, updateBody } from './schema.ts';
import type { ConfigurationChange, DeviceConfiguration } from './service.ts';

/** Least role of all; each group has its own above that. */
const ROLE = 'READONLY';
const GROUP = '/configuration/{group_name}';
const ERRORS = ['403 insufficient_role', '404 device_not_found', '404 configuration_group_not_found'];

/** Operations on the configuration of a device (docs/interface/http.md#configuration). */
export function deviceConfigurationRoutes(service: DeviceConfiguration, devices: Devices): Route[] {
  const deviceSide = createDeviceSideConfiguration(service);
  const asked = (call: Call) =>
    [devices.require(call.param('device_id')), call.param('group_name'), call.principal.role] as const;
  return [
    route({
      operation: 'get_device_configuration',
      about:
        'Values of a configuration group, read from the device if it offers that. The access level of the group determines the role.',
      answer: configurationShape,
      GET: devicePaths(GROUP),
      role: ROLE,
      query: getQuery,
      errors: [...ERRORS, '400 invalid_query'],
      handle: async (call) => ({
        configuration: await deviceSide.get(...asked(call), call.query.param_names),
        ...(call.query.expand.includes('hidden') && { hidden: service.hidden(...asked(call)) }),
      }),
    }),
    route({
      operation: 'update_device_configuration',
      about: 'Sets and resets parameters, all or none, unless the device refuses. Answers the whole group.',
      answer: configurationShape,
      PATCH: devicePaths(GROUP),
      role: ROLE,
      body: updateBody,
      readJson: parseWritableJson,
      errors: [...ERRORS, '400 invalid_body', '422 invalid_configuration', '422 configuration_refused'],
      handle: async (call) => {
        // Values may be secrets.
        const names = [...Object.keys(call.body.set), ...call.body.reset];
        call.note({ parameters: names.join(' ') });
        return { configuration: await deviceSide.update(...asked(call), call.body) };
      },
    }),
    route({
      operation: 'reset_device_configuration',
      about: 'Resets every parameter of the group to its default.',
      answer: configurationShape,
      POST: devicePaths(`${GROUP}/reset_all`),
      role: ROLE,
      errors: [...ERRORS, '422 configuration_refused'],
      handle: async (call) => ({ configuration: await deviceSide.resetAll(...asked(call)) }),
    }),
  ];
}

// Configuration together with the device: a running device may refuse values before they are
// stored (docs/interface/lua-devices.md#configuration), and may read values from its hardware. A device that does not run
// is not asked.

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
