/** Start configuration of a communication module: the address of the gateway, and its ports. */
import { isSerialServer, parseSerialServer, serialServerPath } from '../lib/address.ts';
import { IO_PORT_KINDS } from '../protocol/module.ts';
import {
  type ConnectionConfiguration,
  connectionConfigurationOf,
  jsonIn,
  objectOf,
} from './connection-configuration.ts';
import type { IoPortMapping, PortMapping } from './field/index.ts';

export interface ModuleConfiguration {
  connection: ConnectionConfiguration;
  /** Serial ports by name, such as `rs485`. */
  ports: Record<string, PortMapping>;
  /** CAN, contacts and channels by name, such as `di-1`. */
  ioPorts: Record<string, IoPortMapping>;
}

/**
 * Reads a configuration file: what provisioning returned, whole or its member `config`, as JSON or as base64 of
 * it; a member `ports` may stand beside. @throws Error naming the first thing that is wrong
 */
export function parseModuleConfiguration(text: string): ModuleConfiguration {
  return moduleConfigurationOf(jsonIn(text));
}

/** @throws Error as above */
export function moduleConfigurationOf(content: unknown): ModuleConfiguration {
  const object = objectOf(content, 'the configuration');
  const ports: Record<string, PortMapping> = {};
  const ioPorts: Record<string, IoPortMapping> = {};
  for (const [text, given] of Object.entries(objectOf(object.ports ?? {}, 'ports'))) {
    const place = `ports.${text}`;
    const port = objectOf(given, place);
    const kind = oneOf(port.kind ?? 'serial', KINDS, `${place}.kind`);
    if (kind === 'serial') ports[nameOf(text)] = portOf(port, place);
    else ioPorts[nameOf(text)] = ioPortOf(kind, port, place);
  }
  return {
    connection: connectionConfigurationOf('config' in object ? object.config : object),
    ports,
    ioPorts,
  };
}

const KINDS = ['serial', ...IO_PORT_KINDS] as const;

function nameOf(name: string): string {
  if (!/^(?:[A-Za-z0-9_-]{1,64}|\/[A-Za-z0-9_./-]{1,254})$/.test(name))
    throw new Error(`"${name}" is no name for a port`);
  return name;
}

const PARITIES = ['N', 'E', 'O'] as const;
const DATA_BITS = [8, 7, 6, 5] as const;
const STOP_BITS = [1, 2] as const;
const BAUD_RATE_MAX = 4_000_000;

function portOf(port: Record<string, unknown>, name: string): PortMapping {
  const { baud_rate: baudRate = 9_600 } = port;
  return {
    path: serialPath(port.path, `${name}.path`),
    baudRate: wholeNumber(baudRate, 50, BAUD_RATE_MAX, `${name}.baud_rate`),
    dataBits: oneOf(port.data_bits ?? 8, DATA_BITS, `${name}.data_bits`),
    parity: oneOf(port.parity ?? 'N', PARITIES, `${name}.parity`),
    stopBits: oneOf(port.stop_bits ?? 1, STOP_BITS, `${name}.stop_bits`),
  };
}

function serialPath(path: unknown, name: string): string {
  const server = typeof path === 'string' && isSerialServer(path) ? parseSerialServer(path) : undefined;
  if (typeof server === 'string') throw new Error(`${name}: ${server}`);
  const problem = `${name} must be the path of a device file, or socket://host:port of a serial server`;
  return server ? serialServerPath(server) : matching(path, /^\//, problem);
}

const LINE_MAX = 1_023;
const DEBOUNCE_MS_MAX = 60_000;
const BIASES = ['as_is', 'disabled', 'pull_up', 'pull_down'] as const;
const GPIOD_BIASES = {
  as_is: undefined,
  disabled: 'disabled',
  pull_up: 'pull-up',
  pull_down: 'pull-down',
} as const;
/** An interface of the system has 15 characters at most. */
const INTERFACE = /^[A-Za-z0-9_.-]{1,15}$/;
const CHIP = /^\/dev\/gpiochip\d{1,4}$/;
const CHANNEL =
  /^\/sys\/bus\/iio\/devices\/iio:device\d{1,4}\/in_(?:voltage|current|temp)[A-Za-z0-9_-]{0,32}$/;

function ioPortOf(kind: IoPortMapping['kind'], port: Record<string, unknown>, name: string): IoPortMapping {
  switch (kind) {
    case 'can':
      return { kind, path: matching(port.path, INTERFACE, `${name}.path must be an interface such as can0`) };
    case 'analog_input':
      return {
        kind,
        path: matching(
          port.path,
          CHANNEL,
          `${name}.path must be a channel such as /sys/bus/iio/devices/iio:device0/in_voltage0`,
        ),
      };
    case 'digital_output':
      return { kind, ...lineOf(port, name) };
    case 'digital_input':
      return {
        kind,
        ...lineOf(port, name),
        bias: GPIOD_BIASES[oneOf(port.bias ?? 'as_is', BIASES, `${name}.bias`)],
        debounceMs: wholeNumber(port.debounce_ms ?? 5, 0, DEBOUNCE_MS_MAX, `${name}.debounce_ms`),
      };
  }
}

function lineOf(port: Record<string, unknown>, name: string) {
  return {
    path: matching(port.path, CHIP, `${name}.path must be a chip such as /dev/gpiochip0`),
    line: wholeNumber(port.line, 0, LINE_MAX, `${name}.line`),
    isActiveLow: oneOf(port.active_low ?? false, [true, false], `${name}.active_low`),
  };
}

function matching(value: unknown, pattern: RegExp, problem: string): string {
  if (typeof value !== 'string' || !pattern.test(value)) throw new Error(problem);
  return value;
}

function wholeNumber(value: unknown, min: number, max: number, name: string): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < min || value > max)
    throw new Error(`${name} must be a whole number from ${min} to ${max}`);
  return value;
}

function oneOf<Value>(value: unknown, allowed: readonly Value[], name: string): Value {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`${name} must be one of ${allowed.join(', ')}`);
  return found;
}
