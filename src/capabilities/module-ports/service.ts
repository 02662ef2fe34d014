import { eq } from 'drizzle-orm';
import { Emitter } from '../../lib/emitter.ts';
import { alreadyExists, requireFound, requireUnderLimit, unprocessable } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { deviceFileOf } from '../../platform/host/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { ioPort, serialPort } from './tables.ts';

/** A serial line of the built-in module. */
export type SerialPortRecord = typeof serialPort.$inferSelect;
/** OPTION: of the option `serial_ports`, and changed only there. */
export type ListedSerialPort = SerialPortRecord & { source: 'OPTION' | 'ADDED' };

/** A CAN interface, a contact or an analogue channel; null: means nothing for its kind. */
export type IoPortRecord = typeof ioPort.$inferSelect;

interface ModulePortsOptions {
  database: Database;
  log: Log;
  /** Serial ports of the option. */
  fixed: readonly SerialPortRecord[];
  /** Why the system does not open the device file, or the serial server does not answer; undefined: it does. */
  probeSerial: (path: string) => Promise<string | undefined>;
  /** Why the system does not have the port, or not for us; undefined: it does. */
  probeIo: (port: Pick<IoPortRecord, 'kind' | 'path'>) => Promise<string | undefined>;
}

/** Ports of the built-in module: serial lines of the option, and all those that people add while it runs. */
export class ModulePorts {
  readonly events: Emitter<{ ports_changed: object }>;
  readonly #options: ModulePortsOptions;

  constructor(options: ModulePortsOptions) {
    this.#options = options;
    this.events = new Emitter(options.log);
  }

  /** All serial ports by name. */
  serial(): ListedSerialPort[] {
    const { database, fixed } = this.#options;
    const added = database.orm.select().from(serialPort).all();
    return [
      ...fixed.map((port) => ({ ...port, source: 'OPTION' as const })),
      ...added.map((port) => ({ ...port, source: 'ADDED' as const })),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** All others by name. */
  io(): IoPortRecord[] {
    return this.#options.database.orm.select().from(ioPort).orderBy(ioPort.name).all();
  }

  /** @throws GatewayError already_exists (409), serial_port_limit_reached (422) */
  addSerial(port: SerialPortRecord): ListedSerialPort {
    const { serialPorts: limit } = LIMITS.module;
    const message = `The module has ${limit} serial ports.`;
    requireUnderLimit('serial_port_limit_reached', message, this.serial().length, limit);
    this.#refuseTaken([port.name, ...port.aliases]);
    this.#refuseTakenFile(port.path);
    this.#options.database.orm.insert(serialPort).values(port).run();
    this.#changed('serial port added', port.name);
    return { ...port, source: 'ADDED' };
  }

  /** @throws GatewayError already_exists (409), io_port_limit_reached (422) */
  addIo(port: IoPortRecord): IoPortRecord {
    const { ioPorts: limit } = LIMITS.module;
    const message = `The module has ${limit} ports of this kind.`;
    requireUnderLimit('io_port_limit_reached', message, this.io().length, limit);
    this.#refuseTaken([port.name]);
    this.#options.database.orm.insert(ioPort).values(port).run();
    this.#changed('port added', port.name);
    return port;
  }

  /** @throws GatewayError serial_port_not_found (404), serial_port_of_option (422) */
  removeSerial(name: string): void {
    if (this.requireSerial(name).source === 'OPTION')
      throw unprocessable(
        'serial_port_of_option',
        `The serial port "${name}" comes from the option serial_ports: take it out there.`,
      );
    this.#options.database.orm.delete(serialPort).where(eq(serialPort.name, name)).run();
    this.#changed('serial port removed', name);
  }

  /** @throws GatewayError io_port_not_found (404) */
  removeIo(name: string): void {
    this.requireIo(name);
    this.#options.database.orm.delete(ioPort).where(eq(ioPort.name, name)).run();
    this.#changed('port removed', name);
  }

  /** Why the port cannot be used; undefined: it can. @throws GatewayError serial_port_not_found (404) */
  async testSerial(name: string): Promise<string | undefined> {
    return this.#options.probeSerial(this.requireSerial(name).path);
  }

  /** As for serial ports. @throws GatewayError io_port_not_found (404) */
  async testIo(name: string): Promise<string | undefined> {
    return this.#options.probeIo(this.requireIo(name));
  }

  /** A name is one port, whatever its kind. */
  #refuseTaken(names: readonly string[]): void {
    const taken = new Set([
      ...this.serial().flatMap(({ name, aliases }) => [name, ...aliases]),
      ...this.io().map(({ name }) => name),
    ]);
    const twice = names.find((name) => taken.has(name));
    if (twice !== undefined) throw alreadyExists(`Another port is called "${twice}".`, 'name', twice);
  }

  /** Two ports would speak into each other's frames on one line, or one would not get its settings. */
  #refuseTakenFile(path: string): void {
    const file = deviceFileOf(path);
    const other = this.serial().find((port) => deviceFileOf(port.path) === file);
    if (!other) return;
    const message = `The port "${other.name}" is on this line already; scripts find it under further names as its aliases.`;
    throw alreadyExists(message, 'path', path);
  }

  requireSerial(name: string): ListedSerialPort {
    const port = this.serial().find((known) => known.name === name);
    return requireFound('serial_port_not_found', `There is no serial port "${name}".`, port);
  }

  requireIo(name: string): IoPortRecord {
    const port = this.io().find((known) => known.name === name);
    return requireFound('io_port_not_found', `There is no port "${name}" of this kind.`, port);
  }

  #changed(message: string, name: string): void {
    this.#options.log.info(message, { port: name });
    this.events.emit('ports_changed', {});
  }
}
