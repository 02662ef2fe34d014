/** How a client of the gateway's broker connects with a connection configuration. */
import type { LineOptions } from '../platform/mqtt-client/index.ts';
import type { ConnectionConfiguration } from './connection-configuration.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_S = 30;

/** `host` is the configured one, or the address that was found for it. */
export function clientOptions(connection: ConnectionConfiguration, host: string): LineOptions {
  const { credentials } = connection;
  const common = {
    host,
    port: connection.mqttPort,
    clientId: '',
    clean: true,
    keepalive: KEEP_ALIVE_S,
    protocolVersion: 4 as const,
    // The pause between attempts is ours, so that it grows.
    reconnectPeriod: 0,
    connectTimeout: CONNECT_TIMEOUT_MS,
  };
  if (credentials.protocol === 'MQTT')
    return {
      ...common,
      protocol: 'mqtt',
      username: credentials.username,
      password: credentials.password,
    };
  return {
    ...common,
    protocol: 'mqtts',
    key: credentials.privateKey,
    cert: credentials.certificate,
    ca: credentials.caChain,
    // The gateway's own authority is checked; its box may be called by any name or address.
    checkServerIdentity: () => undefined,
  };
}
