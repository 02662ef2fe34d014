/**
 * One analogue channel of the system (industrial I/O), read from its files below /sys: raw value, offset and scale as the
 * kernel's interface for such devices says (Documentation/ABI/testing/sysfs-bus-iio).
 */
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { PortFault } from './modbus-fault.ts';
import type { PortOptions } from './system-program.ts';

/** Quantity of a channel: V, A, °C. */
export type Quantity = 'voltage' | 'current' | 'temperature';

/** Beginning of the channel's name, and how many of the kernel's units make one: mV, mA, thousandths of a degree. */
const CHANNELS: Readonly<Record<Quantity, RegExp>> = {
  voltage: /^in_voltage\d/,
  current: /^in_current\d/,
  temperature: /^in_temp/,
};
const PER_UNIT = 1_000;

interface AnalogInputOptions extends Pick<PortOptions, 'onFailed' | 'onWorking'> {
  /** Channel, such as /sys/bus/iio/devices/iio:device0/in_voltage0. */
  path: string;
}

export class AnalogInput {
  readonly #options: AnalogInputOptions;
  /** Files that were there once. */
  readonly #known = new Set<string>();

  constructor(options: AnalogInputOptions) {
    this.#options = options;
  }

  /** In V, A or °C. @throws PortFault not_supported for another quantity than the channel's, connection_failed */
  async measure(quantity: Quantity): Promise<number> {
    const { path, onFailed, onWorking } = this.#options;
    if (!CHANNELS[quantity].test(basename(path)))
      throw new PortFault('not_supported', `the port does not measure a ${quantity}`);
    try {
      const value = await this.#read();
      onWorking();
      return value / PER_UNIT;
    } catch (error) {
      onFailed(messageOf(error));
      throw new PortFault('connection_failed', messageOf(error), error);
    }
  }

  async #read(): Promise<number> {
    const { path } = this.#options;
    const processed = await this.#numberIn(`${path}_input`);
    if (processed !== undefined) return processed;
    const raw = await this.#numberIn(`${path}_raw`);
    if (raw === undefined) throw new Error('there is no such channel');
    const [offset = 0, scale = 1] = [await this.#ofChannel('offset'), await this.#ofChannel('scale')];
    return (raw + offset) * scale;
  }

  /** A property that is not set for the channel is that of all channels of its kind. */
  async #ofChannel(name: string): Promise<number | undefined> {
    const { path } = this.#options;
    const kind = basename(path).replace(/\d.*/s, '');
    return (
      (await this.#numberIn(`${path}_${name}`)) ??
      (await this.#numberIn(join(dirname(path), `${kind}_${name}`)))
    );
  }

  /** The files of a device that goes or comes are not all there at once, and a raw value without its scale is another one. */
  async #numberIn(file: string): Promise<number | undefined> {
    const number = await numberIn(file);
    if (number === undefined && this.#known.has(file)) throw new Error(`${file} is gone`);
    if (number !== undefined) this.#known.add(file);
    return number;
  }
}

/** Undefined: there is no such file. @throws Error */
async function numberIn(file: string): Promise<number | undefined> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new Error(`${file} holds no number`);
  return number;
}
