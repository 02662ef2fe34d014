/** A device connects by what stands in its connection configuration, over plain MQTT or TLS, with the real client. */
import { connect, type IClientOptions, type MqttClient } from 'mqtt';
import {
  type ConnectionConfiguration,
  connectionConfigurationOf,
} from '../../scripts/support/connection-configuration.ts';
import { connected } from './mqtt.ts';
import type { TestGateway } from './test-gateway.ts';

export type Protocol = 'MQTT' | 'MQTTS';

export interface Dialler {
  id: string;
  hardwareId: string;
  config: ConnectionConfiguration;
  /** A new session; it never reconnects. Rejects when turned away. */
  dial: (options?: IClientOptions) => Promise<MqttClient>;
}

/** A new standalone device with credentials for the protocol. */
export async function provisionDialler(gateway: TestGateway, protocol: Protocol): Promise<Dialler> {
  const path = '/v3/provisioning/standalone';
  const answer = await gateway.ok('OWNER', 'POST', path, { name: 'Meter', protocol });
  const config = connectionConfigurationOf(answer['config']);
  return {
    id: String(answer['device_id']),
    hardwareId: config.hardwareId,
    config,
    dial: (options) => dial(gateway, config, options),
  };
}

/** A session by a configuration, to where the gateway listens now. */
export async function dial(
  { ports }: TestGateway,
  { credentials }: ConnectionConfiguration,
  options: IClientOptions = {},
): Promise<MqttClient> {
  const isPlain = credentials.protocol === 'MQTT';
  const client = connect({
    protocol: isPlain ? 'mqtt' : 'mqtts',
    host: '127.0.0.1',
    port: isPlain ? ports.mqttPort : (ports.mqttsPort ?? 0),
    reconnectPeriod: 0,
    clientId: '',
    ...(isPlain
      ? { username: credentials.username, password: credentials.password }
      : { key: credentials.privateKey, cert: credentials.certificate, ca: credentials.caChain }),
    ...options,
  });
  client.on('error', () => undefined);
  await connected(client);
  return client;
}
