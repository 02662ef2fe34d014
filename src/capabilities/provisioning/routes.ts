import { notFound } from '../../lib/errors.ts';
import { type Call, route, type Route } from '../../platform/http/index.ts';
import { devicePaths, type Devices } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import {
  configurationToWire,
  generateConfigBody,
  hardwareModuleBody,
  luaDeviceBody,
  softwareModuleBody,
  provisioningShapes,
  standaloneBody,
} from './schema.ts';
import type { Provisioned, Provisioning } from './service.ts';

interface RouteOptions {
  provisioning: Provisioning;
  devices: Devices;
  site: Pick<Site, 'get'>;
}

const CREATION_ERRORS = ['409 already_exists', '422 device_limit_reached'] as const;

/**
 * Operations of provisioning (docs/interface/http.md#provisioning and
 * docs/interface/http.md#connection-configuration).
 */
export function provisioningRoutes(options: RouteOptions): Route[] {
  return [...connectingRoutes(options), luaDeviceRoute(options), configurationRoute(options)];
}

/** Devices with a connection of their own. */
function connectingRoutes({ provisioning, site }: RouteOptions): Route[] {
  const requireSite = (id: string | null | undefined): void => {
    if (id && id !== site.get().id)
      throw notFound('site_not_found', `There is no site "${id.slice(0, 64)}".`);
  };
  return [
    route({
      operation: 'provision_standalone_device',
      about:
        'Creates a device that connects by itself. The answer has everything it needs to connect, shown only once.',
      answer: provisioningShapes.standalone,
      POST: ['/v3/provisioning/standalone'],
      role: 'OWNER',
      body: standaloneBody,
      errors: [...CREATION_ERRORS, '404 site_not_found', '422 not_available_on_gateway'],
      handle: async (call) => {
        const { name, slug, protocol, site_id: siteId } = call.body;
        requireSite(siteId);
        const made = await provisioning.standalone(
          { name, slug, protocol: protocol ?? undefined },
          call.host,
        );
        return { ...answer(call, made), config: configurationToWire(made.configuration) };
      },
    }),
    ...(['VIRTUAL_UCM', 'HARDWARE_UCM'] as const).map((type) =>
      route({
        about: 'Creates a communication module; the same hardware id again is the same device.',
        answer: provisioningShapes.module,
        operation: type === 'VIRTUAL_UCM' ? 'provision_virtual_ucm' : 'provision_hardware_ucm',
        POST: [type === 'VIRTUAL_UCM' ? '/v3/provisioning/vucm' : '/v3/provisioning/ucm'],
        role: 'OWNER',
        body: type === 'VIRTUAL_UCM' ? softwareModuleBody : hardwareModuleBody,
        errors: [...CREATION_ERRORS, '404 site_not_found'],
        handle: async (call) => {
          const { name, hardware_id: hardwareId, site_id: siteId } = call.body;
          requireSite(siteId);
          return answer(call, await provisioning.module({ name, hardwareId, type }, call.host));
        },
      }),
    ),
  ];
}

function luaDeviceRoute({ provisioning }: RouteOptions): Route {
  return route({
    operation: 'provision_lua_device',
    about: 'Creates a device whose script runs on a communication module.',
    answer: provisioningShapes.device,
    POST: ['/v3/provisioning/lua_device'],
    role: 'OWNER',
    body: luaDeviceBody,
    errors: [
      ...CREATION_ERRORS,
      '404 device_not_found',
      '404 blueprint_not_found',
      '422 invalid_runtime',
      '422 runtime_full',
      '422 invalid_blueprint',
    ],
    handle: (call) => {
      const { name, slug, runtime_id: runtimeId, blueprint_id: blueprintId } = call.body;
      return answer(call, { device: provisioning.luaDevice({ name, slug, runtimeId, blueprintId }) });
    },
  });
}

function configurationRoute({ provisioning, devices }: RouteOptions): Route {
  return route({
    operation: 'generate_config',
    about:
      'Makes new credentials. The old ones become invalid and their sessions are closed. Sensitive values of groups above the role of the caller are deleted, because the credentials can read them.',
    answer: provisioningShapes.config,
    POST: devicePaths('/generate_config'),
    role: 'OWNER',
    body: generateConfigBody,
    errors: ['422 config_generation_not_supported', '422 not_available_on_gateway'],
    handle: async (call) => {
      const device = devices.require(call.param('device_id'));
      const { protocol } = call.body;
      return {
        config: configurationToWire(
          await provisioning.generateConfiguration(device, protocol, call.host, call.principal.role),
        ),
      };
    },
  });
}

function answer(call: Pick<Call, 'note'>, { device, configuration }: Provisioned) {
  call.note({ device_id: device.id });
  return {
    device_id: device.id,
    slug: device.slug,
    ...(configuration && { config: configurationToWire(configuration) }),
  };
}
