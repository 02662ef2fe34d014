/** Serial ports of the built-in module: those of the option, and those that people add while it runs. */
import { eq } from 'drizzle-orm';
import { Emitter } from '../../lib/emitter.ts';
import { gatewayError, notFound } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { serialPort } from './tables.ts';

export interface SerialPortRecord {
  name: string;
  /** Device file. */
  path: string;
  baudRate: number;
  dataBits: number;
  parity: string;
  stopBits: number;
  /** Further names under which scripts find it, device files of other boards too. */
  aliases: string[];
}

/** OPTION: of the option `serial_ports`, and changed only there. */
export type ListedSerialPort = SerialPortRecord & { source: 'OPTION' | 'ADDED' };

export interface SerialPortsOptions {
  /** state.db */
  database: Database;
  log: Log;
  /** Those of the option. */
  fixed: readonly SerialPortRecord[];
  /** Why the system does not open the device file; undefined: it does. */
  probe: (path: string) => Promise<string | undefined>;
}

export class SerialPorts {
  readonly events: Emitter<{ serial_ports_changed: object }>;
  readonly #options: SerialPortsOptions;

  constructor(options: SerialPortsOptions) {
    this.#options = options;
    this.events = new Emitter((owner, event, error) =>
      options.log.error('listener failed', { owner, event, error }),
    );
  }

  /** All by name. */
  list(): ListedSerialPort[] {
    const { database, fixed } = this.#options;
    const added = database.orm.select().from(serialPort).all();
    return [
      ...fixed.map((port) => ({ ...port, source: 'OPTION' as const })),
      ...added.map((port) => ({ ...port, source: 'ADDED' as const })),
    ].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** @throws GatewayError already_exists (409), serial_port_limit_reached (422) */
  add(port: SerialPortRecord): ListedSerialPort {
    const present = this.list();
    if (present.length >= LIMITS.module.serialPorts)
      throw gatewayError(
        'unprocessable',
        'serial_port_limit_reached',
        `The module has ${LIMITS.module.serialPorts} serial ports.`,
        { limit: LIMITS.module.serialPorts },
      );
    const taken = new Set(present.flatMap(({ name, aliases }) => [name, ...aliases]));
    const twice = [port.name, ...port.aliases].find((name) => taken.has(name));
    if (twice !== undefined)
      throw gatewayError('conflict', 'already_exists', `Another serial port is called "${twice}".`, {
        field: 'name',
        value: twice,
      });
    this.#options.database.orm.insert(serialPort).values(port).run();
    this.#changed('serial port added', port.name);
    return { ...port, source: 'ADDED' };
  }

  /** @throws GatewayError serial_port_not_found (404), serial_port_of_option (422) */
  remove(name: string): void {
    if (this.#require(name).source === 'OPTION')
      throw gatewayError(
        'unprocessable',
        'serial_port_of_option',
        `The serial port "${name}" comes from the option serial_ports: take it out there.`,
      );
    this.#options.database.orm.delete(serialPort).where(eq(serialPort.name, name)).run();
    this.#changed('serial port removed', name);
  }

  /** Why the port cannot be used; undefined: it can. @throws GatewayError serial_port_not_found (404) */
  async test(name: string): Promise<string | undefined> {
    return this.#options.probe(this.#require(name).path);
  }

  #require(name: string): ListedSerialPort {
    const port = this.list().find((known) => known.name === name);
    if (port === undefined) throw notFound('serial_port_not_found', `There is no serial port "${name}".`);
    return port;
  }

  #changed(message: string, name: string): void {
    this.#options.log.info(message, { port: name });
    this.events.emit('serial_ports_changed', {});
  }
}
