import { type Call, route, type Route, shape } from '../../platform/http/index.ts';
import type { Site } from '../site/index.ts';
import type { Device } from './model.ts';
import * as wire from './schema.ts';
import type { DeviceService } from './service.ts';

interface RouteOptions {
  devices: DeviceService;
  site: Pick<Site, 'get'>;
}

/** Lists the paths of the device collection, below the site too. */
export const DEVICE_COLLECTION_PATHS: [string, ...string[]] = [
  '/v3/devices',
  '/v3/sites/{site_id}/devices',
  '/v3/site/devices',
];

/** Operations on devices (docs/interface/http.md#devices). */
export function deviceRoutes(options: RouteOptions): Route[] {
  return [...readingRoutes(options), ...changingRoutes(options)];
}

function deviceOf({ devices }: RouteOptions, call: Call): Device {
  return devices.require(call.param('device_id'));
}

function answer(
  { devices, site }: RouteOptions,
  call: Call,
  device: Device,
  expand?: readonly wire.Expansion[],
) {
  return wire.toWire(device, { devices, site, role: call.principal.role }, expand);
}

function readingRoutes(options: RouteOptions): Route[] {
  const { devices } = options;
  return [
    route({
      operation: 'list_devices',
      about: 'All devices by id, including the gateway itself and its module.',
      answer: wire.deviceShapes.list,
      GET: DEVICE_COLLECTION_PATHS,
      role: 'READONLY',
      query: wire.listQuery,
      errors: ['404 device_not_found', '404 profile_not_found'],
      handle: (call) => {
        const { limit, offset, expand } = call.query;
        const found = devices.list(wire.filterOf(call.query, devices));
        const page = found.slice(offset, offset + limit);
        return {
          devices: page.map((device) => answer(options, call, device, expand)),
          total_count: found.length,
        };
      },
    }),
    route({
      operation: 'get_device',
      about: 'One device; `expand` adds members.',
      answer: wire.deviceShapes.one,
      GET: devicePaths(''),
      role: 'READONLY',
      query: wire.getQuery,
      handle: (call) => ({ device: answer(options, call, deviceOf(options, call), call.query.expand) }),
    }),
    route({
      operation: 'get_device_manifest',
      about: "The compiled manifest of the device's blueprint.",
      answer: wire.deviceShapes.manifest,
      GET: devicePaths('/manifest'),
      role: 'READONLY',
      handle: (call) => ({ manifest: devices.manifest(deviceOf(options, call)) }),
    }),
  ];
}

function changingRoutes(options: RouteOptions): Route[] {
  const { devices } = options;
  return [
    route({
      operation: 'update_device',
      about:
        'Changes the given members; null and absent ones stay, and so do name and slug when they are empty.',
      answer: wire.deviceShapes.one,
      PATCH: devicePaths(''),
      role: 'OWNER',
      body: wire.updateBody,
      errors: ['409 already_exists'],
      handle: (call) => {
        const { position, ...change } = call.body;
        const device = devices.update(deviceOf(options, call), change);
        return {
          device: answer(options, call, position === undefined ? device : devices.move(device, position)),
        };
      },
    }),
    route({
      operation: 'delete_device',
      about:
        'Deletes the device with its telemetry, logs, executions, configuration, documents and credentials.',
      answer: shape.nothing(),
      DELETE: devicePaths(''),
      role: 'OWNER',
      errors: ['422 device_has_dependents', '422 device_not_deletable'],
      handle: (call) => {
        const device = deviceOf(options, call);
        call.note({ device_name: device.name });
        devices.remove(device);
      },
    }),
    route({
      operation: 'assign_blueprint',
      about:
        'Assigns a blueprint. Stored configuration that still fits is kept, except sensitive values of groups above the role of the caller.',
      answer: wire.deviceShapes.one,
      POST: devicePaths('/assign_blueprint'),
      role: 'OWNER',
      body: wire.assignBlueprintBody,
      errors: ['404 blueprint_not_found', '422 invalid_blueprint'],
      handle: (call) => {
        call.note({ blueprint_id: call.body.blueprint_id });
        const { role } = call.principal;
        const device = devices.assignBlueprint(deviceOf(options, call), call.body.blueprint_id, role);
        return { device: answer(options, call, device) };
      },
    }),
  ];
}

/** All paths of an operation on one device; the first is the canonical one (docs/interface/http.md#other-names). */
export function devicePaths(suffix: string): [string, ...string[]] {
  return [
    `/v3/devices/{device_id}${suffix}`,
    `/v3/sites/{site_id}/devices/{device_id}${suffix}`,
    `/v3/site/devices/{device_id}${suffix}`,
  ];
}
