/** What a communication module is told at its start: where the gateway is, and its serial ports. */
import {
  type ConnectionConfiguration,
  connectionConfigurationOf,
  parseConnectionConfiguration,
} from './connection-configuration.ts';
import type { PortMapping } from './field/index.ts';

export interface ModuleConfiguration {
  connection: ConnectionConfiguration;
  /** By name, such as `rs485`. */
  ports: Record<string, PortMapping>;
}

/**
 * Reads a configuration file: what provisioning returned, whole or its member `config`, as JSON or as base64 of
 * it; in JSON a member `ports` may stand beside. @throws Error naming the first thing that is wrong
 */
export function parseModuleConfiguration(text: string): ModuleConfiguration {
  if (!text.trim().startsWith('{')) return { connection: parseConnectionConfiguration(text), ports: {} };
  return moduleConfigurationOf(JSON.parse(text));
}

/** @throws Error as above */
export function moduleConfigurationOf(content: unknown): ModuleConfiguration {
  const object = objectOf(content, 'the configuration');
  return {
    connection: connectionConfigurationOf('config' in object ? object.config : object),
    ports: Object.fromEntries(
      Object.entries(objectOf(object.ports ?? {}, 'ports')).map(([name, port]) => [
        nameOf(name),
        portOf(port, `ports.${name}`),
      ]),
    ),
  };
}

function nameOf(name: string): string {
  if (!/^(?:[A-Za-z0-9_-]{1,64}|\/[A-Za-z0-9_./-]{1,254})$/.test(name))
    throw new Error(`"${name}" is no name for a port`);
  return name;
}

const PARITIES = ['N', 'E', 'O'] as const;
const DATA_BITS = [8, 7, 6, 5] as const;
const STOP_BITS = [1, 2] as const;
const BAUD_RATE_DEFAULT = 9_600;
const BAUD_RATE_MAX = 4_000_000;

function portOf(content: unknown, name: string): PortMapping {
  const port = objectOf(content, name);
  const { path, baud_rate: baudRate = BAUD_RATE_DEFAULT } = port;
  if (typeof path !== 'string' || !path.startsWith('/'))
    throw new Error(`${name}.path must be the path of a device file`);
  if (
    typeof baudRate !== 'number' ||
    !Number.isInteger(baudRate) ||
    baudRate < 50 ||
    baudRate > BAUD_RATE_MAX
  )
    throw new Error(`${name}.baud_rate must be a whole number from 50 to ${BAUD_RATE_MAX}`);
  return {
    path,
    baudRate,
    dataBits: oneOf(port.data_bits ?? 8, DATA_BITS, `${name}.data_bits`),
    parity: oneOf(port.parity ?? 'N', PARITIES, `${name}.parity`),
    stopBits: oneOf(port.stop_bits ?? 1, STOP_BITS, `${name}.stop_bits`),
  };
}

function oneOf<Value>(value: unknown, allowed: readonly Value[], name: string): Value {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(', ')}`);
  return found;
}

function objectOf(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`${name} must be an object`);
  return value as Record<string, unknown>;
}
