/** Order and results of a search on the network. */

/** Where to search. */
export interface SearchOrder {
  /** As `192.168.1.0/24`; undefined: every network of the gateway. */
  networks: readonly string[] | undefined;
  modbusPorts: readonly number[];
  /** Undefined: those that templates name. */
  httpPorts: readonly number[] | undefined;
  /** Whether to search the serial ports of the built-in module, too. */
  serialPorts: boolean;
}

/** A device that answered. */
export interface FoundDevice {
  transport: 'MODBUS_TCP' | 'MODBUS_RTU' | 'HTTP' | 'MQTT';
  /** As the form of a device has it: `tcp://192.168.1.20:502`, `port://rs485`, `192.168.1.21`. */
  address: string;
  unitId?: number | undefined;
  maker?: string | undefined;
  model?: string | undefined;
  serialNumber?: string | undefined;
  /** Templates of the library that it may belong to; none: the library does not know it. */
  templates: { id: string; name: string }[];
  /** Values of the connection for a device of these templates. */
  connection: Record<string, string | number>;
}

/** The answer of one address. */
export interface HttpRead {
  /** It answered with JSON. */
  isUsable: boolean;
  /** The event in a sentence. */
  message: string;
  /** The answer, which is JSON. */
  text?: string;
}

export type SearchEvent =
  /** NETWORK: addresses that were tried; DEVICES: those that answered, and serial ports. */
  | { type: 'progress'; stage: 'NETWORK' | 'DEVICES'; done: number; total: number }
  | { type: 'found'; device: FoundDevice }
  /** Somewhere could not be searched. */
  | { type: 'problem'; address: string; message: string }
  | { type: 'end'; outcome: 'COMPLETE' | 'TIME_LIMIT' };
