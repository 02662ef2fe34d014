/** Shapes on the wire. Source: docs/interface/http.md#devices. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import type { Role } from '../../lib/role.ts';
import { type Site, siteShapes, siteToWire } from '../site/index.ts';
import { type Communication, COMMUNICATION_TYPES, DEVICE_TYPES, type Device } from './model.ts';
import type { DeviceFilter, Devices, DeviceService } from './service.ts';

const EXPANSIONS = [
  'site',
  'manifest',
  'properties',
  'connectivity',
  'communication',
  'communication_info',
  'raised_alert_names',
  'room',
  'notes',
  'position',
] as const;
export type Expansion = (typeof EXPANSIONS)[number];

/** A shorter usual pause need not be shown. */
const SHORT_PAUSE_S = 10;

const EXAMPLE_BLUEPRINT = '7d0f2d1e-3c57-4a0b-8a6b-1f0d6f2f5c10';

const EXPAND_ABOUT = 'Members that the answer has beyond the usual ones.';

export const getQuery = v.object({ expand: query.choices(EXPANSIONS, EXPAND_ABOUT) });

export const listQuery = v.object({
  expand: query.choices(EXPANSIONS, EXPAND_ABOUT),
  ...query.page(),
  'profiles.has': query.optionalList('Devices that implement all of these profiles.'),
  'id.in': query.optionalList('These devices, by id or slug.'),
  'slug.in': query.optionalList('The same; a device must be in both where both are given.'),
  'type.in': query.optionalChoices(DEVICE_TYPES, 'Devices of one of these types.'),
  'name.contains': query.text('Part of the name, in any case.'),
});

/** @throws GatewayError device_not_found, profile_not_found (404) */
export function filterOf(
  input: v.InferOutput<typeof listQuery>,
  devices: Pick<Devices, 'require' | 'requireProfile'>,
): DeviceFilter {
  const idOf = (idOrSlug: string): string => devices.require(idOrSlug).id;
  return {
    ids: input['id.in']?.map(idOf),
    alsoIds: input['slug.in']?.map(idOf),
    types: input['type.in'],
    profiles: input['profiles.has']?.map((id) => devices.requireProfile(id)),
    nameContains: input['name.contains'],
  };
}

/** A name of a device: trimmed, never empty. */
export const deviceName = v.pipe(shape.name(), v.examples(['Battery 1']));

export const updateBody = v.pipe(
  v.object({
    name: shape.unlessEmpty(deviceName),
    device_name: shape.about(shape.unlessEmpty(deviceName), 'Older form of `name`.'),
    slug: shape.unlessEmpty(shape.slug()),
    room: shape.about(
      shape.unlessNull(shape.name({ mayBeEmpty: true })),
      'Where people find it; empty: nowhere in particular.',
    ),
    notes: shape.about(
      shape.unlessNull(
        v.pipe(
          v.string(),
          v.maxLength(LIMITS.devices.notesLength),
          v.transform((text) => text.toWellFormed()),
        ),
      ),
      'What people noted of it; empty: nothing.',
    ),
    position: shape.about(
      shape.unlessNull(shape.whole(0, LIMITS.devices.devices)),
      'Place in lists, from 0; the other devices keep their order.',
    ),
  }),
  shape.example({ name: 'Battery 1', slug: 'battery-1', room: 'Cellar', position: 0 }),
  v.transform(({ device_name: olderName, ...change }) => ({ ...change, name: change.name ?? olderName })),
);

export const assignBlueprintBody = v.object({
  blueprint_id: v.pipe(v.string(), v.minLength(1, 'must not be empty'), v.examples([EXAMPLE_BLUEPRINT])),
});

const manifestShape = shape.named(
  'Manifest',
  v.looseObject({
    blueprint_spec: v.picklist(['device_compiled/3.0', 'device_compiled/1.0']),
    display_name: v.string(),
    implements: v.array(v.string()),
    properties: shape.anyObject(),
    telemetry: shape.anyObject(),
    alerts: shape.anyObject(),
    commands: shape.anyObject(),
    configuration: shape.anyObject(),
  }),
  {
    blueprint_spec: 'device_compiled/3.0',
    display_name: 'Battery',
    implements: ['energy.battery'],
    properties: {},
    telemetry: {
      voltage: {
        display_name: 'Voltage',
        type: 'float',
        unit: 'volt',
        access_level: 'readonly',
        implements: [],
        aliases: [],
      },
    },
    alerts: {},
    commands: {},
    configuration: {},
  },
);

const communicationShape = v.object({
  type: v.picklist(COMMUNICATION_TYPES),
  upstream_id: v.optional(shape.id()),
  hardware_id: v.optional(v.string()),
  channel_id: v.optional(v.string()),
});

const deviceShape = shape.named(
  'Device',
  v.object({
    id: shape.id(),
    blueprint_id: shape.id(),
    site_id: shape.id(),
    name: v.string(),
    slug: v.string(),
    updated_at: shape.instant(),
    authorized_role: shape.role(),
    type: v.picklist(DEVICE_TYPES),
    implemented_profiles: v.array(v.string()),
    site: v.optional(siteShapes.site),
    manifest: v.optional(manifestShape),
    properties: v.optional(shape.anyObject()),
    connectivity: v.optional(
      v.object({
        status: v.picklist(['ONLINE', 'OFFLINE']),
        usual_pause_s: v.optional(
          shape.about(
            v.number(),
            'Usual seconds between two measurements. Absent: at most 10, or not known yet.',
          ),
        ),
      }),
    ),
    communication: v.optional(communicationShape),
    raised_alert_names: v.optional(v.array(v.string())),
    room: v.optional(v.string()),
    notes: v.optional(v.string()),
    position: v.optional(shape.count()),
  }),
  {
    id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    blueprint_id: EXAMPLE_BLUEPRINT,
    site_id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11',
    name: 'Battery 1',
    slug: 'battery-1',
    updated_at: '2026-03-01T08:00:00.123Z',
    authorized_role: 'INSTALLER',
    type: 'STANDALONE',
    implemented_profiles: ['energy.battery'],
    connectivity: { status: 'ONLINE' },
    properties: { serial_number: 'X1', capacity: 10.5 },
  },
);

export type DeviceOnWire = v.InferOutput<typeof deviceShape>;

export const deviceShapes = {
  one: v.object({ device: deviceShape }),
  list: shape.listOf('devices', deviceShape),
  manifest: v.object({ manifest: manifestShape }),
};

export interface WireContext {
  devices: Devices & Pick<DeviceService, 'positionOf'>;
  site: Pick<Site, 'get'>;
  role: Role;
}

export function toWire(
  device: Device,
  { devices, site, role }: WireContext,
  expand: readonly Expansion[] = [],
) {
  const manifest = devices.manifest(device);
  const has = (name: Expansion): boolean => expand.includes(name);
  const shown: DeviceOnWire = {
    id: device.id,
    blueprint_id: device.blueprintId,
    site_id: site.get().id,
    name: device.name,
    slug: device.slug,
    updated_at: formatTimestamp(device.updatedAtMs),
    authorized_role: role,
    type: device.type,
    implemented_profiles: manifest.implements,
  };
  if (has('site')) shown.site = siteToWire(site.get(), role);
  if (has('manifest')) shown.manifest = manifest;
  if (has('properties')) shown.properties = devices.properties(device, role);
  if (has('connectivity')) {
    shown.connectivity = { status: devices.connectivity(device.id) };
    const usualPauseS = devices.usualPauseS(device) ?? 0;
    if (usualPauseS > SHORT_PAUSE_S) shown.connectivity.usual_pause_s = usualPauseS;
  }
  if (has('communication') || has('communication_info'))
    shown.communication = communicationToWire(device.communication);
  if (has('raised_alert_names')) shown.raised_alert_names = devices.raisedAlertNames(device, role);
  if (has('room')) shown.room = device.room ?? '';
  if (has('notes')) shown.notes = device.notes ?? '';
  if (has('position')) shown.position = devices.positionOf(device);
  return shown;
}

function communicationToWire({ type, upstreamId, hardwareId, channelId }: Communication) {
  const isDirect = type.startsWith('MQTT_');
  return {
    type,
    ...(!isDirect && upstreamId !== undefined && { upstream_id: upstreamId }),
    ...(isDirect && { hardware_id: hardwareId, channel_id: channelId }),
  };
}
