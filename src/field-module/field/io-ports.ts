/** CAN interfaces, contacts and analogue channels of the board that have names, as one table. */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { AnalogInput } from './analog-input.ts';
import { CanBus } from './can-bus.ts';
import { DigitalInputs } from './digital-inputs.ts';
import { DigitalOutput } from './digital-output.ts';
import { type PortOptions, systemPrograms, type SystemPrograms } from './system-program.ts';

/** The port behind a name. */
export type IoPortMapping =
  /** `path`: interface of the system, such as can0. */
  | { kind: 'can'; path: string }
  | {
      kind: 'digital_input';
      /** Device file of a GPIO chip, such as /dev/gpiochip0, and number of the line. */
      path: string;
      line: number;
      /** Closed is the low level. */
      isActiveLow: boolean;
      bias: 'disabled' | 'pull-up' | 'pull-down' | undefined;
      debounceMs: DurationMs;
    }
  | { kind: 'digital_output'; path: string; line: number; isActiveLow: boolean }
  /** `path`: channel, such as /sys/bus/iio/devices/iio:device0/in_voltage0. */
  | { kind: 'analog_input'; path: string };

/** Kind of a port of the board. */
export type IoKind = IoPortMapping['kind'];

interface IoPortsOptions {
  clock: Clock;
  limits: Limits['field'];
  /** By name. */
  ports: Readonly<Record<string, IoPortMapping>>;
  /** Default: those of the system. */
  programs?: SystemPrograms;
  onFailed: (name: string, path: string, reason: string) => void;
  onWorking: (name: string) => void;
}

export class IoPorts {
  readonly buses = new Map<string, CanBus>();
  readonly contacts = new Map<string, Contact>();
  readonly outputs = new Map<string, DigitalOutput>();
  readonly channels = new Map<string, AnalogInput>();
  readonly #closers: { close: () => void | Promise<void> }[] = [];

  constructor(options: IoPortsOptions) {
    const groups = new Map<string, InputGroup>();
    for (const [name, port] of Object.entries(options.ports)) {
      const common = commonOf(options, name, port.path);
      switch (port.kind) {
        case 'can':
          this.buses.set(name, this.#closing(new CanBus({ ...common, interfaceName: port.path })));
          break;
        case 'digital_output':
          this.outputs.set(name, this.#closing(new DigitalOutput({ ...common, ...port, chip: port.path })));
          break;
        case 'analog_input':
          this.channels.set(name, new AnalogInput({ ...common, path: port.path }));
          break;
        case 'digital_input': {
          const key = `${port.path} ${port.bias} ${port.debounceMs}`;
          groups.getOrInsert(key, { name, port, members: [] }).members.push([name, port]);
        }
      }
    }
    for (const { name, port, members } of groups.values()) {
      const inputs = new DigitalInputs({
        ...commonOf(options, name, port.path),
        wiring: { ...port, chip: port.path },
        lines: [...new Set(members.map(([, { line }]) => line))],
      });
      this.#closing(inputs);
      for (const [member, wired] of members)
        this.contacts.set(member, new Contact(inputs, wired, options.clock));
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#closers.map(async (part) => part.close()));
  }

  #closing<Part extends { close: () => void | Promise<void> }>(part: Part): Part {
    this.#closers.push(part);
    return part;
  }
}

type InputPort = IoPortMapping & { kind: 'digital_input' };

/** Inputs that one watch can watch together; failures are reported under the first name. */
interface InputGroup {
  name: string;
  port: InputPort;
  members: [name: string, port: InputPort][];
}

/** An input as scripts know it: closed or open, with a counter that counts closings. */
class Contact {
  readonly #inputs: DigitalInputs;
  readonly #port: InputPort;
  readonly #clock: Clock;
  /** Added to the closings since the start. */
  #offset = 0;
  #countedFromMs: MonotonicMs;

  constructor(inputs: DigitalInputs, port: InputPort, clock: Clock) {
    this.#inputs = inputs;
    this.#port = port;
    this.#clock = clock;
    this.#countedFromMs = clock.monotonicMs();
  }

  get debounceMs(): DurationMs {
    return this.#port.debounceMs;
  }

  /** @throws PortFault */
  async isClosed(): Promise<boolean> {
    const { isHigh } = await this.#inputs.read(this.#port.line);
    return isHigh !== this.#port.isActiveLow;
  }

  /** Closings, and for how long they have been counted. @throws PortFault */
  async readCounter(): Promise<{ count: number; seconds: number }> {
    const seconds = Math.floor((this.#clock.monotonicMs() - this.#countedFromMs) / 1_000);
    return { count: (await this.#closings()) + this.#offset, seconds };
  }

  /** Sets the counter for all scripts. @throws PortFault */
  async setCounter(count: number): Promise<void> {
    this.#offset = count - (await this.#closings());
    this.#countedFromMs = this.#clock.monotonicMs();
  }

  async #closings(): Promise<number> {
    const { rises, falls } = await this.#inputs.read(this.#port.line);
    return this.#port.isActiveLow ? falls : rises;
  }
}

function commonOf(options: IoPortsOptions, name: string, path: string): PortOptions {
  const { clock, limits, programs = systemPrograms() } = options;
  return {
    clock,
    limits,
    programs,
    onFailed: (reason: string) => options.onFailed(name, path, reason),
    onWorking: () => options.onWorking(name),
  };
}
