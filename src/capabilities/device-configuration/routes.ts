import { route, type Call, type Route } from '../../platform/http/index.ts';
import { parseWritableJson } from '../../lib/json.ts';
import { devicePaths, type Devices } from '../devices/index.ts';
import { configurationShape, getQuery, updateBody } from './schema.ts';
import { createDeviceSideConfiguration } from './device-side.ts';
import type { DeviceConfiguration } from './service.ts';

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
