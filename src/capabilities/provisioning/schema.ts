/**
 * Shapes on the wire. Source: docs/interface/http.md#connection-configuration and
 * docs/interface/http.md#provisioning.
 */
import * as v from 'valibot';
import { shape } from '../../platform/http/index.ts';
import { deviceName } from '../devices/index.ts';
import { type ConnectionConfiguration, MQTT_PROTOCOLS } from './model.ts';

const protocol = v.pipe(
  v.string(),
  shape.wire({ type: 'string', enum: MQTT_PROTOCOLS }),
  v.toUpperCase(),
  shape.oneOf(MQTT_PROTOCOLS),
);

const siteId = v.pipe(
  v.nullish(v.string()),
  v.description('Null, empty or absent: the site of this gateway.'),
  v.examples(['']),
);

export const standaloneBody = v.pipe(
  v.object({
    name: deviceName,
    site_id: siteId,
    slug: shape.unlessEmpty(shape.slug()),
    protocol: v.nullish(protocol),
  }),
  shape.example({ name: 'Battery 1' }),
);

/** @param hardwareId of the example: one module is not of two kinds */
const moduleBody = (hardwareId: string) =>
  v.pipe(
    v.object({
      name: deviceName,
      hardware_id: v.pipe(
        v.string(),
        v.regex(/^[A-Za-z0-9]{8,64}$/, 'must be 8 to 64 letters or digits'),
        v.examples([hardwareId]),
      ),
      site_id: siteId,
    }),
    shape.example({ name: 'Module in the hall', hardware_id: hardwareId }),
  );

export const softwareModuleBody = moduleBody('V0123456789ABCDEF0123456789ABCDEF');
export const hardwareModuleBody = moduleBody('0123456789ABCDEF0123456789ABCDEF');

export const luaDeviceBody = v.pipe(
  v.object({
    name: deviceName,
    runtime_id: v.pipe(
      v.string(),
      v.minLength(1, 'must not be empty'),
      v.description('Id or slug of a communication module; `gateway` means the one that is built in.'),
    ),
    blueprint_id: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
    slug: shape.unlessEmpty(shape.slug()),
  }),
  shape.example({
    name: 'Hybrid inverter',
    runtime_id: 'gateway',
    blueprint_id: '7d0f2d1e-3c57-4a0b-8a6b-1f0d6f2f5c10',
  }),
);

export const generateConfigBody = v.object({ protocol });

const certificateShape = v.object({
  private_key: v.string(),
  certificate: v.string(),
  ca_chain: v.string(),
});

const configurationShape = shape.named(
  'ConnectionConfiguration',
  v.object({
    mqtt_host: v.string(),
    mqtt_port: shape.whole(1, 65_535),
    mqtt_protocol: v.picklist(MQTT_PROTOCOLS),
    mqtt_credentials: v.union([v.object({ username: v.string(), password: v.string() }), certificateShape]),
    time_sync_protocol: v.picklist(['HTTP', 'NTP']),
    time_sync_host: v.string(),
    time_sync_port: shape.whole(1, 65_535),
    hardware_id: v.string(),
    channel_id: v.string(),
  }),
  {
    mqtt_host: 'gateway.local',
    mqtt_port: 1883,
    mqtt_protocol: 'MQTT',
    mqtt_credentials: { username: '0A1B2C3D4E5F60718293A4B5C6D7E8F901234567', password: 'shown once' },
    time_sync_protocol: 'HTTP',
    time_sync_host: 'gateway.local',
    time_sync_port: 80,
    hardware_id: '0A1B2C3D4E5F60718293A4B5C6D7E8F901234567',
    channel_id: 'ucm',
  },
);

const made = { device_id: shape.id(), slug: v.string() };

export type ConnectionConfigurationOnWire = v.InferOutput<typeof configurationShape>;
export type ProvisionedOnWire = v.InferOutput<typeof provisioningShapes.module>;

export const provisioningShapes = {
  device: v.object(made),
  module: v.object({
    ...made,
    config: v.optional(shape.about(configurationShape, 'Absent when the device is there already.')),
  }),
  standalone: v.object({ ...made, config: configurationShape }),
  config: v.object({ config: configurationShape }),
};

/** Usable by a device as it is; never has `ucm_id`, which a public SDK takes for an older format. */
export function configurationToWire(configuration: ConnectionConfiguration) {
  const { mqttCredentials: credentials } = configuration;
  return {
    ...shape.filled(configurationShape, configuration),
    mqtt_credentials:
      'username' in credentials
        ? { username: credentials.username, password: credentials.password }
        : shape.filled(certificateShape, credentials),
  };
}
