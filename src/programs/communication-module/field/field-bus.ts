/**
 * The wires of a communication module: one connection per address and one queue per serial port, whoever
 * asks. Scripts hold facades; what is behind them comes and goes.
 */
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { type Limits, LIMITS } from '../../../lib/limits.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import { type FieldAddress, parseConnectionUri, portNamed } from './connection-uri.ts';
import type { ModbusClient } from './modbus-client.ts';
import { failed } from './modbus-fault.ts';
import { createModbusRtu } from './modbus-rtu.ts';
import { createModbusTcp } from './modbus-tcp.ts';
import { systemSerialLine } from './serial-line.ts';
import {
  createSerialPort,
  type OpenSerialLine,
  type SerialPort,
  type SerialSettings,
} from './serial-port.ts';

type TcpAddress = FieldAddress & { kind: 'tcp' };

/** A serial port that the operator gave a name, such as `rs485`. */
export interface PortMapping extends SerialSettings {
  /** Device file, such as /dev/ttyUSB0. */
  path: string;
}

export interface FieldBus {
  /** A Modbus client for a connection URI; a text is the problem. Nothing is connected yet. */
  modbus(uri: string): ModbusClient | string;
  /** The serial port of that name; undefined when this module has none. */
  serialPort(name: string): SerialPort | undefined;
  /** Ports that could not be opened when they were needed last, or went away. */
  readonly portsFailed: readonly string[];
  close(): void;
}

export interface FieldBusOptions {
  clock: Clock;
  /** By name. */
  ports: Readonly<Record<string, PortMapping>>;
  limits?: Limits['field'];
  /** A port cannot be opened, or went away. */
  onPortFailed?: (failure: { port: string; path: string; reason: string }) => void;
  /** Default: the network. */
  dial?: (address: { host: string; port: number }, signal: AbortSignal) => Promise<Duplex>;
  /** Default: the system's serial ports. */
  openSerialLine?: (path: string) => OpenSerialLine;
}

export function createFieldBus(options: FieldBusOptions): FieldBus {
  const { clock, limits = LIMITS.field, dial = dialTcp } = options;
  const openSerialLine = options.openSerialLine ?? ((path) => systemSerialLine(path, clock));
  const links = new Map<string, ModbusClient>();
  const failing = new Set<string>();
  const ports = new Map<string, { port: SerialPort; modbus: ModbusClient }>();
  /** A line with several names is one port. */
  const byPath = new Map<string, { port: SerialPort; modbus: ModbusClient }>();
  for (const [name, { path, ...settings }] of Object.entries(options.ports)) {
    const shared = byPath.get(path);
    if (shared) {
      ports.set(name, shared);
      continue;
    }
    const port = createSerialPort({
      open: openSerialLine(path),
      settings,
      clock,
      limits,
      onFailed: (reason) => {
        failing.add(name);
        options.onPortFailed?.({ port: name, path, reason });
      },
      onOpened: () => failing.delete(name),
    });
    const line = { port, modbus: createModbusRtu({ port, clock, limits }) };
    byPath.set(path, line);
    ports.set(name, line);
  }

  const paths = new Map(Object.entries(options.ports).map(([name, { path }]) => [name, path]));
  const portOf = (wanted: string) => ports.get(portNamed(paths, wanted) ?? '');

  function linkTo(address: TcpAddress): ModbusClient | undefined {
    const key = `${address.host} ${address.port}`;
    const known = links.get(key);
    if (known || links.size >= limits.addresses) return known;
    const link = createModbusTcp({
      dial: (signal) => dial(address, signal),
      clock,
      limits,
      onIdle: () => void links.delete(key),
    });
    links.set(key, link);
    return link;
  }

  function tcpFacade(address: TcpAddress): ModbusClient {
    return {
      request: async (unitId, request, timeoutMs) =>
        (await linkTo(address)?.request(unitId, request, timeoutMs)) ?? failed({ kind: 'overloaded' }),
      // Others may use the same connection; it is closed when nobody does.
      close: () => undefined,
    };
  }

  return {
    modbus: (uri) => {
      const address = parseConnectionUri(uri);
      if (typeof address === 'string') return address;
      if (address.kind === 'tcp') return tcpFacade(address);
      const port = portOf(address.name);
      return port?.modbus ?? `hardware port "${address.name}" is not available on this module`;
    },
    serialPort: (name) => portOf(name)?.port,
    get portsFailed() {
      return [...failing];
    },
    close: () => {
      for (const link of links.values()) link.close();
      links.clear();
      for (const { port } of ports.values()) port.close();
    },
  };
}

/** Probes an idle connection after so long, so that the system notices a peer that went away. */
const KEEP_ALIVE_MS = 30_000;

function dialTcp(address: { host: string; port: number }, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ ...address, signal, noDelay: true, keepAlive: true });
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    const onError = (error: Error): void => reject(error);
    socket.once('error', onError);
    socket.once('connect', () => {
      // Errors until somebody else listens have nobody to go to; the stream is then seen as closed.
      socket.on('error', () => undefined);
      socket.off('error', onError);
      resolve(socket);
    });
  });
}
