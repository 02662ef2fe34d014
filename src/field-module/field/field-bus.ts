import { isDeepStrictEqual } from 'node:util';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import { canonicalPortPath, isSerialServer, parseSerialServer, serialServerPath } from '../../lib/address.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { dialTcp, type HostAndPort } from './dial.ts';
import { type FieldAddress, noPort, parseConnectionUri, portNamed } from './connection-uri.ts';
import { IoPorts, type IoPortMapping } from './io-ports.ts';
import { failed, type ModbusAnswer, type ModbusFault, PortFault } from './modbus-fault.ts';
import type { ModbusRequest } from './modbus-pdu.ts';
import { ModbusRtu } from './modbus-rtu.ts';
import { type ModbusClient, ModbusTcp } from './modbus-tcp.ts';
import { socketLine, systemSerialLines } from './serial-line.ts';
import { type OpenSerialLine, SerialPort, type SerialSettings } from './serial-port.ts';
import type { SystemPrograms } from './system-program.ts';

type TcpAddress = FieldAddress & { kind: 'tcp' };

/** A serial port that the operator gave a name, such as `rs485`. */
export interface PortMapping extends SerialSettings {
  /** Device file, such as /dev/ttyUSB0, or serial server, such as socket://192.168.0.7:4001. */
  path: string;
}

/** Access to an address or a serial line for a scan, beside the scripts that use it. */
export interface Visit {
  /** The same for all names of one line. */
  readonly key: string;
  /** A script uses it, or did within a while. */
  readonly isUsed: boolean;
  /** The scan wants other settings than the serial line has. */
  readonly isSetOtherwise: boolean;
  /** Undefined: it is open; else why it cannot be. */
  reach(): Promise<ModbusFault | undefined>;
  /** Reads as a client does, without the pauses that scripts keep. */
  ask(unitId: number, request: ModbusRequest, timeoutMs: DurationMs): Promise<ModbusAnswer>;
}

interface SerialLineInUse {
  path: string;
  port: SerialPort;
  modbus: ModbusRtu;
}

interface FieldBusOptions {
  clock: Clock;
  /** Serial ports by name. */
  ports: Readonly<Record<string, PortMapping>>;
  /** Every other port by name. */
  ioPorts?: Readonly<Record<string, IoPortMapping>>;
  limits?: Limits['field'];
  /** A port cannot be opened, or went away. */
  onPortFailed?: (failure: { port: string; path: string; reason: string }) => void;
  /** Default: the network. */
  dial?: typeof dialTcp;
  /** Default: the system's serial ports. */
  openSerialLine?: (path: string) => OpenSerialLine;
  /** Default: the system's programs for CAN and GPIO. */
  programs?: SystemPrograms;
}

/**
 * The connections and ports of a communication module: one connection per address and one queue per serial port, shared
 * by everyone who asks. Scripts hold facades; what is behind them comes and goes.
 */
export class FieldBus {
  /** CAN, contacts and analogue channels, by name. */
  readonly io: IoPorts;
  readonly #clock: Clock;
  readonly #limits: Limits['field'];
  readonly #dial: typeof dialTcp;
  readonly #links = new Map<string, ModbusTcp>();
  readonly #failing = new Set<string>();
  readonly #ports = new Map<string, SerialLineInUse>();
  /** A line with several names is one port; those behind serial servers are added as scripts name them. */
  readonly #lines = new Map<string, SerialLineInUse>();
  readonly #paths: Map<string, string>;
  readonly #openLine: (path: string) => OpenSerialLine;
  readonly #onFailed: (port: string, path: string, reason: string) => void;

  constructor(options: FieldBusOptions) {
    this.#clock = options.clock;
    this.#limits = options.limits ?? LIMITS.field;
    this.#dial = options.dial ?? dialTcp;
    const { openSerialLine = systemSerialLines(this.#clock) } = options;
    const onFailed = (port: string, path: string, reason: string): void => {
      this.#failing.add(port);
      options.onPortFailed?.({ port, path, reason });
    };
    this.io = new IoPorts({
      clock: this.#clock,
      limits: this.#limits,
      ports: options.ioPorts ?? {},
      ...(options.programs && { programs: options.programs }),
      onFailed,
      onWorking: (port) => this.#failing.delete(port),
    });
    this.#openLine = (path) => {
      const server = isSerialServer(path) ? parseSerialServer(path) : path;
      if (typeof server === 'string') return openSerialLine(path);
      return socketLine((signal) => this.#dial(server, signal), this.#clock, this.#limits.connectMs);
    };
    this.#onFailed = onFailed;
    for (const [name, { path, ...settings }] of Object.entries(options.ports)) {
      const key = canonicalPortPath(path);
      const line = this.#lines.getOrInsertComputed(key, () => this.#newLine(path, settings, name));
      this.#ports.set(name, line);
    }
    this.#paths = new Map(Object.entries(options.ports).map(([name, { path }]) => [name, path]));
  }

  /** A Modbus client for a connection URI; a text is the problem. Nothing is connected yet. */
  modbus(uri: string): ModbusClient | string {
    const address = parseConnectionUri(uri);
    if (typeof address === 'string') return address;
    if (address.kind === 'tcp') return this.#tcpFacade(address);
    const line = this.#lineOf(address);
    return typeof line === 'string' ? line : line.modbus;
  }

  /** Access for a scan to a connection URI; a text is the problem. Once aborted it waits for no further turn. */
  visit(uri: string, wanted: Partial<SerialSettings>, signal: AbortSignal): Visit | string {
    const address = parseConnectionUri(uri);
    if (typeof address === 'string') return address;
    if (address.kind === 'tcp') return this.#tcpVisit(address);
    const line = this.#lineOf(address);
    return typeof line === 'string' ? line : serialVisit(line, wanted, signal);
  }

  /** The serial port of that name, or behind that serial server; undefined when this module has none. */
  serialPort(name: string): SerialPort | undefined {
    const address = parseConnectionUri(name);
    const line =
      typeof address === 'object' && address.kind === 'socket' ? this.#lineOf(address) : this.#portOf(name);
    return typeof line === 'object' ? line.port : undefined;
  }

  /** Ports that could not be opened when they were needed last, or went away. */
  get portsFailed(): readonly string[] {
    return [...this.#failing];
  }

  async close(): Promise<void> {
    for (const link of this.#links.values()) link.close();
    this.#links.clear();
    for (const { port } of this.#lines.values()) port.close();
    await this.io.close();
  }

  #portOf(wanted: string) {
    return this.#ports.get(portNamed(this.#paths, wanted) ?? '');
  }

  /** A text is the problem. */
  #lineOf(address: FieldAddress & { kind: 'port' | 'socket' }): SerialLineInUse | string {
    if (address.kind === 'port') return this.#portOf(address.name) ?? noPort(address.name);
    const path = serialServerPath(address);
    const known = this.#lines.get(path);
    if (known) return known;
    if (this.#lines.size >= this.#limits.addresses) return 'too many serial servers are in use';
    const line = this.#newLine(path, SERVER_SETTINGS);
    this.#lines.set(path, line);
    return line;
  }

  /** @param name of a port that the operator declared: its failures are reported */
  #newLine(path: string, settings: SerialSettings, name?: string): SerialLineInUse {
    const clock = this.#clock;
    const limits = this.#limits;
    const port = new SerialPort({
      open: this.#openLine(path),
      settings,
      clock,
      limits,
      ...(name !== undefined && {
        onFailed: (reason) => this.#onFailed(name, path, reason),
        onOpened: () => this.#failing.delete(name),
      }),
      isRemote: isSerialServer(path),
    });
    return { path, port, modbus: new ModbusRtu({ port, clock, limits }) };
  }

  #linkTo(address: TcpAddress): ModbusTcp | undefined {
    const key = keyOf(address);
    const known = this.#links.get(key);
    if (known || this.#links.size >= this.#limits.addresses) return known;
    const link = new ModbusTcp({
      dial: (signal) => this.#dial(address, signal),
      clock: this.#clock,
      limits: this.#limits,
      onIdle: () => void this.#links.delete(key),
    });
    this.#links.set(key, link);
    return link;
  }

  #tcpVisit(address: TcpAddress): Visit {
    const overloaded: ModbusFault = { kind: 'overloaded' };
    const linkNow = (): ModbusTcp | undefined => this.#links.get(keyOf(address));
    return {
      key: keyOf(address),
      get isUsed() {
        return linkNow()?.isUsed ?? false;
      },
      isSetOtherwise: false,
      reach: async () => {
        const link = this.#linkTo(address);
        return link ? link.reach() : overloaded;
      },
      ask: async (unitId, request, timeoutMs) =>
        (await this.#linkTo(address)?.visit(unitId, request, timeoutMs, address.isLoose)) ??
        failed(overloaded),
    };
  }

  #tcpFacade(address: TcpAddress): ModbusClient {
    const { isLoose, connections } = address;
    return {
      request: async (unitId, request, timeoutMs, asking) => {
        const allowed = { ...asking, isLoose, connections };
        const link = this.#linkTo(address);
        return link?.request(unitId, request, timeoutMs, allowed) ?? failed({ kind: 'overloaded' });
      },
    };
  }
}

/**
 * Settings of a line behind a serial server, which sets the line itself. Pauses between frames are those of 9 600 baud.
 */
const SERVER_SETTINGS: SerialSettings = { baudRate: 9_600, dataBits: 8, parity: 'N', stopBits: 1 };

function keyOf({ host, port }: HostAndPort): string {
  return `${host} ${port}`;
}

function serialVisit(
  { path, port, modbus }: SerialLineInUse,
  wanted: Partial<SerialSettings>,
  signal: AbortSignal,
): Visit {
  const settings = { ...port.settings, ...wanted };
  return {
    key: path,
    get isUsed() {
      return port.isUsed;
    },
    get isSetOtherwise() {
      return !isDeepStrictEqual(port.settings, settings);
    },
    reach: async () => {
      try {
        await port.visit(modbus, settings, () => Promise.resolve());
        return undefined;
      } catch (error) {
        if (!(error instanceof PortFault)) throw error;
        return { kind: 'connection_failed', reason: error.message };
      }
    },
    ask: (unitId, request, timeoutMs) => modbus.visit(unitId, request, { settings, timeoutMs, signal }),
  };
}
