/** Shapes on the wire. Source: http-contract.md 8 "Connection configuration", 9.3. */
import * as v from 'valibot';
import { deviceName, deviceSlug, unlessEmpty } from '../devices/index.ts';
import { type ConnectionConfiguration, MQTT_PROTOCOLS } from './model.ts';

const protocol = v.pipe(
  v.string(),
  v.toUpperCase(),
  v.picklist(MQTT_PROTOCOLS, `must be one of: ${MQTT_PROTOCOLS.join(', ')}`),
);

const siteId = v.nullish(v.string());

export const standaloneBody = v.object({
  name: deviceName,
  site_id: siteId,
  slug: unlessEmpty(deviceSlug),
  protocol: v.nullish(protocol),
});

export const moduleBody = v.object({
  name: deviceName,
  hardware_id: v.pipe(v.string(), v.regex(/^[A-Za-z0-9]{8,64}$/, 'must be 8 to 64 letters or digits')),
  site_id: siteId,
});

export const luaDeviceBody = v.object({
  name: deviceName,
  runtime_id: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
  blueprint_id: v.pipe(v.string(), v.minLength(1, 'must not be empty')),
  slug: unlessEmpty(deviceSlug),
});

export const generateConfigBody = v.object({ protocol });

/** Usable by a device as it is; never has `ucm_id`, which a public SDK takes for an older format. */
export function configurationToWire(configuration: ConnectionConfiguration): Record<string, unknown> {
  const { mqttCredentials: credentials } = configuration;
  return {
    mqtt_host: configuration.mqttHost,
    mqtt_port: configuration.mqttPort,
    mqtt_protocol: configuration.mqttProtocol,
    mqtt_credentials:
      'username' in credentials
        ? { username: credentials.username, password: credentials.password }
        : {
            private_key: credentials.privateKey,
            certificate: credentials.certificate,
            ca_chain: credentials.caChain,
          },
    time_sync_protocol: configuration.timeSyncProtocol,
    time_sync_host: configuration.timeSyncHost,
    time_sync_port: configuration.timeSyncPort,
    hardware_id: configuration.hardwareId,
    channel_id: configuration.channelId,
  };
}
