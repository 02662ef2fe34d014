/** Field devices for benchmarks: every poll of one is answered with a number that it never gave before. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { ModbusUnits } from '../simulate/modbus-device.ts';

/** One answered poll: whoever finds the value later knows when it was true. */
export interface Poll {
  device: number;
  value: number;
  /** Wall clock of the machine. */
  atMs: number;
}

/** What a process of field devices is started with. */
export interface FieldDevicesOrder {
  /** Number of the first one; the numbers are in the values. */
  first: number;
  count: number;
}

export type ToFieldDevices = { kind: 'start'; order: FieldDevicesOrder } | { kind: 'tell polls' };

export type FromFieldDevices =
  | { kind: 'ready'; ports: readonly number[] }
  | { kind: 'polls'; polls: readonly Poll[] };

/** Values of the device begin here; none is ever zero. */
const VALUES_PER_DEVICE = 1_000_000;

/** The units of one device with the register map of the sample blueprint: an inverter, and a meter beside it. */
export function truthfulUnits(options: {
  device: number;
  inverterUnit: number;
  meterUnit: number;
  clock: Pick<Clock, 'wallMs'>;
  onPoll: (poll: Poll) => void;
}): ModbusUnits {
  const { device, inverterUnit, meterUnit, clock, onPoll } = options;
  let value = (device + 1) * VALUES_PER_DEVICE;
  return {
    unitIds: [inverterUnit, meterUnit],
    answer: (unitId, request) => {
      const isOfInverter = unitId === inverterUnit;
      if (!isOfInverter && unitId !== meterUnit) return undefined;
      const functionCode = request[0] ?? 0;
      const [start, count] = [request.readUInt16BE(1), request.readUInt16BE(3)];
      if (isOfInverter && functionCode === READ_INPUTS) {
        value += 1;
        onPoll({ device, value, atMs: clock.wallMs() });
      }
      const registers = !isOfInverter
        ? meterOf(value)
        : functionCode === READ_INPUTS
          ? inverterOf(value)
          : SETTINGS;
      const data = Buffer.alloc(count * 2);
      for (let index = 0; index < count; index += 1)
        data.writeUInt16BE(registers[start + index] ?? 0, index * 2);
      return Buffer.concat([Buffer.of(functionCode, data.length), data]);
    },
  };
}

const READ_INPUTS = 4;
const SETTINGS = [1, 1, 0, 3_000, 0];
const NO_FAULTS = 0;
const OPERATING = 1;

function inverterOf(value: number): number[] {
  const words = [value >>> 16, value & 0xffff];
  const measured = [OPERATING, NO_FAULTS, ...words, ...words, ...words, 2_300, 5_000, 550, 250];
  return [...measured, 0, 0, 0, 0, ...words, ...words, ...words];
}

function meterOf(value: number): number[] {
  const words = [value >>> 16, value & 0xffff];
  return [0, 0, 0, 0, ...words, ...words, 0, 0, 0, 0];
}
