/** Shapes on the wire. Source: http-contract.md 7, 8 "Device", 9.2. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { isSlug } from '../../lib/slug.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { query, type Role } from '../../platform/http/index.ts';
import { type Site, siteToWire } from '../site/index.ts';
import type { Communication, Device, Devices } from './model.ts';
import type { DeviceFilter } from './service.ts';

const EXPANSIONS = [
  'site',
  'manifest',
  'properties',
  'connectivity',
  'communication',
  'communication_info',
  'raised_alert_names',
] as const;
export type Expansion = (typeof EXPANSIONS)[number];

export const getQuery = v.object({ expand: query.choices(EXPANSIONS) });

export const listQuery = v.object({
  expand: query.choices(EXPANSIONS),
  limit: query.limit(LIMITS.http.pageItems, LIMITS.http.pageItems),
  offset: query.offset(),
  'profiles.has': query.optionalList(),
  'id.in': query.optionalList(),
  'slug.in': query.optionalList(),
  'type.in': query.optionalList(),
  'name.contains': query.text(),
});

export function filterOf(input: v.InferOutput<typeof listQuery>): DeviceFilter {
  return {
    ids: input['id.in'],
    slugs: input['slug.in'],
    types: input['type.in'],
    profiles: input['profiles.has'],
    nameContains: input['name.contains'],
  };
}

/** A name of a device: trimmed, never empty. */
export const deviceName = v.pipe(
  v.string(),
  v.trim(),
  v.minLength(1, 'must not be empty'),
  v.maxLength(LIMITS.http.nameLength, `must have at most ${LIMITS.http.nameLength} characters`),
);

export const deviceSlug = v.pipe(
  v.string(),
  v.check(isSlug, 'must be 1 to 64 letters, digits, - or _, begin with a letter or digit, and be no UUID'),
);

/** null, absent and the empty text mean "as it is" or "make one" (http-contract.md section 15). */
export function unlessEmpty<Schema extends v.GenericSchema<string, string>>(schema: Schema) {
  return v.pipe(
    v.nullish(v.string()),
    v.transform((text) => (text ? text : undefined)),
    v.optional(schema),
  );
}

export const updateBody = v.pipe(
  v.object({
    name: unlessEmpty(deviceName),
    /** Older documentation. */
    device_name: unlessEmpty(deviceName),
    slug: unlessEmpty(deviceSlug),
  }),
  v.transform(({ name, device_name: olderName, slug }) => ({ name: name ?? olderName, slug })),
);

export const assignBlueprintBody = v.object({ blueprint_id: v.pipe(v.string(), v.minLength(1)) });

export interface WireContext {
  devices: Devices;
  site: Pick<Site, 'get'>;
  role: Role;
}

export function toWire(
  device: Device,
  { devices, site, role }: WireContext,
  expand: readonly Expansion[] = [],
): Record<string, unknown> {
  const manifest = devices.manifest(device);
  const has = (name: Expansion): boolean => expand.includes(name);
  return {
    id: device.id,
    blueprint_id: device.blueprintId,
    site_id: site.get().id,
    name: device.name,
    slug: device.slug,
    updated_at: formatTimestamp(device.updatedAtMs),
    authorized_role: role,
    type: device.type,
    implemented_profiles: manifest.implements,
    ...(has('site') && { site: siteToWire(site.get(), role) }),
    ...(has('manifest') && { manifest }),
    ...(has('properties') && { properties: devices.properties(device, role) }),
    ...(has('connectivity') && { connectivity: { status: devices.connectivity(device.id) } }),
    ...((has('communication') || has('communication_info')) && {
      communication: communicationToWire(device.communication),
    }),
    ...(has('raised_alert_names') && { raised_alert_names: devices.raisedAlertNames(device) }),
  };
}

function communicationToWire({ type, upstreamId, hardwareId, channelId }: Communication) {
  const isDirect = type.startsWith('MQTT_');
  return {
    type,
    ...(!isDirect && upstreamId !== undefined && { upstream_id: upstreamId }),
    ...(isDirect && { hardware_id: hardwareId, channel_id: channelId }),
  };
}
