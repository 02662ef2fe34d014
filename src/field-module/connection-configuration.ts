/** The connection configuration that provisioning returns. */
import { messageOf } from '../lib/errors.ts';
import { isObject } from '../lib/members.ts';
import type { LineOptions } from '../platform/mqtt-client/index.ts';

export interface ConnectionConfiguration {
  mqttHost: string;
  mqttPort: number;
  hardwareId: string;
  channelId: string;
  credentials:
    | { protocol: 'MQTT'; username: string; password: string }
    | { protocol: 'MQTTS'; privateKey: string; certificate: string; caChain: string };
}

/**
 * Reads the JSON text, or base64 of it; the object itself or a whole provisioning answer with `config` in it.
 * @throws Error naming the first member that is missing or of the wrong kind
 */
export function parseConnectionConfiguration(text: string): ConnectionConfiguration {
  const outer = objectOf(jsonIn(text), 'the connection configuration');
  return connectionConfigurationOf('config' in outer ? outer.config : outer);
}

/** The value of a JSON text, or of base64 of one. @throws Error */
export function jsonIn(text: string): unknown {
  const trimmed = text.trim();
  const json = trimmed.startsWith('{') ? trimmed : Buffer.from(trimmed, 'base64').toString('utf8');
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new Error(`the configuration is neither JSON nor base64 of JSON: ${messageOf(cause)}`, { cause });
  }
}

/** @throws Error as above */
export function connectionConfigurationOf(content: unknown): ConnectionConfiguration {
  const config = objectOf(content, 'config');
  const credentials = objectOf(config.mqtt_credentials, 'mqtt_credentials');
  const mqttPort = config.mqtt_port;
  if (typeof mqttPort !== 'number') throw new Error('mqtt_port must be a number');
  const address = {
    mqttHost: textOf(config, 'mqtt_host'),
    mqttPort,
    hardwareId: textOf(config, 'hardware_id'),
    channelId: textOf(config, 'channel_id'),
  };
  switch (config.mqtt_protocol) {
    case 'MQTT':
      return {
        ...address,
        credentials: {
          protocol: 'MQTT',
          username: textOf(credentials, 'username'),
          password: textOf(credentials, 'password'),
        },
      };
    case 'MQTTS':
      return {
        ...address,
        credentials: {
          protocol: 'MQTTS',
          privateKey: textOf(credentials, 'private_key'),
          certificate: textOf(credentials, 'certificate'),
          caChain: textOf(credentials, 'ca_chain'),
        },
      };
    default:
      throw new Error('mqtt_protocol must be MQTT or MQTTS');
  }
}

/** @throws Error naming what is no object */
export function objectOf(value: unknown, name: string): Record<string, unknown> {
  if (!isObject(value)) throw new Error(`${name} must be an object`);
  return value;
}

function textOf(object: Record<string, unknown>, name: string): string {
  const value = object[name];
  if (typeof value !== 'string' || value === '') throw new Error(`${name} must be a text`);
  return value;
}

// How a client of the gateway's broker connects with a connection configuration.

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
