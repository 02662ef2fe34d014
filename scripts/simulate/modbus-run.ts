/** Runs simulated Modbus devices until the signal: a plant behind each, one server per device. */
import { readFileSync } from 'node:fs';
import { crc16 } from '../../src/field-module/field/modbus-rtu-frame.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { Random } from '../support/random.ts';
import { UsageError } from '../support/arguments.ts';
import { parseImages } from './device-image.ts';
import { startImageDevice } from './image-device.ts';
import { createModbusUnits, type ModbusUnits } from './modbus-device.ts';
import { createFaultBoard } from './modbus-faults.ts';
import type { SimulateModbusOptions } from './modbus-options.ts';
import { type ModbusServer, serveModbusSerial, serveModbusTcp } from './modbus-server.ts';
import { createPlant, DEFAULT_SETTINGS, type PlantReading } from './plant.ts';
import { openPseudoTerminal } from './pseudo-terminal.ts';
import type { Terminal } from './terminal.ts';

const STEP_MS = 1_000;
/** What a meter that has hung there for a while shows. */
const ENERGY_AT_START = {
  pvWh: 4_210_000,
  batteryInWh: 1_730_000,
  batteryOutWh: 1_640_000,
  gridInWh: 2_980_000,
  gridOutWh: 1_120_000,
};

export interface SimulatedModbus {
  readonly servers: readonly Pick<ModbusServer, 'port' | 'close'>[];
  /** A line such as `slow 1 500`. @throws UsageError */
  command(line: string): void;
  stop(): Promise<void>;
}

export interface ModbusSimulationParts {
  options: SimulateModbusOptions;
  clock: Clock;
  random: Random;
  terminal: Pick<Terminal, 'line'>;
}

export async function simulateModbus(parts: ModbusSimulationParts): Promise<SimulatedModbus> {
  const { options, clock, terminal } = parts;
  if (options.imagePath !== undefined) return playImage(options, options.imagePath, terminal);
  const servers: ModbusServer[] = [];
  const stops: (() => void)[] = [];
  const board = createFaultBoard((fault) => {
    for (const server of servers) server.setFault(fault);
  });
  for (let index = 0; index < options.devices; index += 1) {
    const { units, stop } = startUnits(parts, index);
    stops.push(stop);
    const port = options.port === 0 ? 0 : options.port + index;
    const served = { units, faults: board, clock };
    servers.push(await serveModbusTcp({ ...served, host: options.host, port }));
    if (index === 0 && options.serialPath !== undefined) {
      const line = openPseudoTerminal(options.serialPath, (text) => terminal.line(text));
      serveModbusSerial({ ...served, input: line.input, output: line.output, crc16 });
      stops.push(() => line.child.kill());
      terminal.line(`Modbus RTU at ${options.serialPath}`);
    }
  }
  const [first] = servers;
  terminal.line(
    `Modbus TCP at ${options.host}:${first?.port}${servers.length > 1 ? ` to ${servers.at(-1)?.port}` : ''}`,
  );
  const simulated: SimulatedModbus = {
    servers,
    command: (line) => board.command(line),
    stop: async () => {
      for (const stop of stops) stop();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
  try {
    for (const fault of options.faults) simulated.command(fault);
  } catch (error) {
    await simulated.stop();
    throw error;
  }
  return simulated;
}

/** A device that answers what an image says. */
async function playImage(
  { host, port }: SimulateModbusOptions,
  path: string,
  terminal: Pick<Terminal, 'line'>,
): Promise<SimulatedModbus> {
  const image = parseImages(path, readFileSync(path, 'utf8')).find(
    ({ units, registers }) => units ?? registers,
  );
  if (!image) throw new UsageError(`${path} has no image with registers`);
  const device = await startImageDevice(image, false, { host, port });
  terminal.line(`Modbus TCP at ${host}:${device.port} (${image.name})`);
  return {
    servers: [device],
    command: () => {
      throw new UsageError('an image has no faults');
    },
    stop: () => device.close(),
  };
}

function startUnits(
  { options, clock, random }: ModbusSimulationParts,
  index: number,
): { units: ModbusUnits; stop: () => void } {
  const now = new Date(clock.wallMs());
  const plant = createPlant({
    random: random.fork(index),
    hourOfDay: options.hourOfDay ?? now.getHours() + now.getMinutes() / 60,
    socPercent: options.socPercent,
    mishapsPerDay: options.mishapsPerDay,
    energy: ENERGY_AT_START,
    settings: DEFAULT_SETTINGS,
  });
  let reading: PlantReading = plant.advance(1);
  const steps = clock.setRepeating(STEP_MS, () => {
    reading = plant.advance((STEP_MS / 1_000) * options.timeScale);
  });
  return { units: createModbusUnits(plant, () => reading), stop: () => steps.cancel() };
}
