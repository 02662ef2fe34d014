/**
 * The register maps of the simulated Modbus devices, as rows of a table: what is shown by `--help` is what is
 * served. Numbers are big-endian; of 32 bits the high word comes first.
 */
import { MODES } from './inverter.ts';
import { type Plant, type PlantReading } from './plant.ts';

export const INVERTER_UNIT = 1;
export const METER_UNIT = 2;
/** Written to the register `reset_energy`. */
export const RESET_CODE = 0x5aa5;

export type RegisterTable = 'coils' | 'discrete_inputs' | 'holdings' | 'inputs';

export interface Register {
  unitId: number;
  table: RegisterTable;
  address: number;
  name: string;
  /** How it is stored; bits stand alone. */
  type: 'bit' | 'u16' | 'i16' | 'u32' | 'i32';
  /** The value of one step. */
  scale: number;
  unit: string;
  read: (plant: PlantState) => number;
  /** Takes the scaled value; false refuses it as illegal. Undefined: cannot be written. */
  write?: (plant: Plant, value: number) => boolean;
}

export interface PlantState {
  plant: Plant;
  reading: PlantReading;
}

const WORDS: Readonly<Record<Register['type'], number>> = { bit: 1, u16: 1, i16: 1, u32: 2, i32: 2 };

type Shape = Pick<Register, 'table' | 'address' | 'name' | 'type'> &
  Partial<Pick<Register, 'scale' | 'unit' | 'write'>>;

function row(unitId: number, shape: Shape, read: Register['read']): Register {
  return { scale: 1, unit: '', ...shape, unitId, read };
}

const inverter = (shape: Shape, read: Register['read']): Register => row(INVERTER_UNIT, shape, read);
const meter = (address: number, name: string, type: Register['type'], rest: Partial<Shape>) => {
  const shape: Shape = { table: 'inputs', address, name, type, ...rest };
  return (read: Register['read']): Register => row(METER_UNIT, shape, read);
};

function setting<Name extends keyof Plant['settings']>(
  plant: Plant,
  name: Name,
  value: Plant['settings'][Name] | undefined,
): boolean {
  if (value === undefined) return false;
  plant.settings = { ...plant.settings, [name]: value };
  return true;
}

const within = (value: number, max: number): number | undefined => (value <= max ? value : undefined);
const flag = (value: number): boolean | undefined => (value <= 1 ? value === 1 : undefined);

const INVERTER_INPUTS: readonly Register[] = [
  inverter(
    { table: 'inputs', address: 0, name: 'status', type: 'u16', unit: '0 off 1 on 2 fault' },
    ({ plant, reading }) => (!plant.settings.running ? 0 : faultBits(reading) === 0 ? 1 : 2),
  ),
  inverter(
    {
      table: 'inputs',
      address: 1,
      name: 'faults',
      type: 'u16',
      unit: 'bits grid fan battery_line overheated',
    },
    ({ reading }) => faultBits(reading),
  ),
  inverter(
    { table: 'inputs', address: 2, name: 'pv_power', type: 'i32', unit: 'W' },
    ({ reading }) => reading.flows.pvW,
  ),
  inverter(
    { table: 'inputs', address: 4, name: 'battery_power', type: 'i32', unit: 'W, discharging positive' },
    ({ reading }) => reading.flows.batteryW,
  ),
  inverter(
    { table: 'inputs', address: 6, name: 'ac_power', type: 'i32', unit: 'W' },
    ({ reading }) => reading.flows.acW,
  ),
  inverter(
    { table: 'inputs', address: 8, name: 'ac_voltage', type: 'u16', scale: 0.1, unit: 'V' },
    ({ reading }) => reading.acVoltageV,
  ),
  inverter(
    { table: 'inputs', address: 9, name: 'ac_frequency', type: 'u16', scale: 0.01, unit: 'Hz' },
    ({ reading }) => reading.acFrequencyHz,
  ),
  inverter(
    { table: 'inputs', address: 10, name: 'battery_soc', type: 'u16', scale: 0.1, unit: '%' },
    ({ reading }) => reading.socPercent,
  ),
  inverter(
    { table: 'inputs', address: 11, name: 'battery_temperature', type: 'i16', scale: 0.1, unit: '°C' },
    ({ reading }) => reading.state.battery.temperatureC,
  ),
  inverter(
    { table: 'inputs', address: 12, name: 'fan_speed', type: 'u16', unit: 'rpm' },
    ({ reading }) => reading.flows.fanSpeedRpm,
  ),
  inverter(
    { table: 'inputs', address: 16, name: 'pv_energy', type: 'u32', unit: 'Wh' },
    ({ reading }) => reading.state.energy.pvWh,
  ),
  inverter(
    { table: 'inputs', address: 18, name: 'battery_energy_in', type: 'u32', unit: 'Wh' },
    ({ reading }) => reading.state.energy.batteryInWh,
  ),
  inverter(
    { table: 'inputs', address: 20, name: 'battery_energy_out', type: 'u32', unit: 'Wh' },
    ({ reading }) => reading.state.energy.batteryOutWh,
  ),
];

const INVERTER_SETTINGS: readonly Register[] = [
  inverter(
    {
      table: 'holdings',
      address: 0,
      name: 'running',
      type: 'u16',
      unit: '0 1',
      write: (plant, value) => setting(plant, 'running', flag(value)),
    },
    ({ plant }) => Number(plant.settings.running),
  ),
  inverter(
    {
      table: 'holdings',
      address: 1,
      name: 'mode',
      type: 'u16',
      unit: MODES.map((mode, index) => `${index} ${mode}`).join(' '),
      write: (plant, value) => setting(plant, 'mode', MODES[value]),
    },
    ({ plant }) => MODES.indexOf(plant.settings.mode),
  ),
  inverter(
    {
      table: 'holdings',
      address: 2,
      name: 'reserve',
      type: 'u16',
      unit: '% 0..100',
      write: (plant, value) => setting(plant, 'reservePercent', within(value, 100)),
    },
    ({ plant }) => plant.settings.reservePercent,
  ),
  inverter(
    {
      table: 'holdings',
      address: 3,
      name: 'charge_limit',
      type: 'u16',
      unit: 'W 0..5000',
      write: (plant, value) => setting(plant, 'chargeLimitW', within(value, 5_000)),
    },
    ({ plant }) => plant.settings.chargeLimitW,
  ),
  inverter(
    {
      table: 'holdings',
      address: 4,
      name: 'reset_energy',
      type: 'u16',
      unit: `write ${RESET_CODE}`,
      write: (plant, value) => {
        if (value !== RESET_CODE) return false;
        plant.resetEnergyCounters();
        return true;
      },
    },
    () => 0,
  ),
  inverter(
    {
      table: 'coils',
      address: 0,
      name: 'running',
      type: 'bit',
      write: (plant, value) => setting(plant, 'running', flag(value)),
    },
    ({ plant }) => Number(plant.settings.running),
  ),
  inverter(
    {
      table: 'coils',
      address: 1,
      name: 'feed_in_allowed',
      type: 'bit',
      write: (plant, value) => setting(plant, 'feedInAllowed', flag(value)),
    },
    ({ plant }) => Number(plant.settings.feedInAllowed),
  ),
  inverter({ table: 'discrete_inputs', address: 0, name: 'grid_present', type: 'bit' }, ({ reading }) =>
    Number(!reading.happening.grid),
  ),
  inverter({ table: 'discrete_inputs', address: 1, name: 'fan_works', type: 'bit' }, ({ reading }) =>
    Number(!reading.happening.fan),
  ),
  inverter({ table: 'discrete_inputs', address: 2, name: 'battery_reachable', type: 'bit' }, ({ reading }) =>
    Number(!reading.happening.battery_line),
  ),
];

const METER: readonly Register[] = [
  meter(0, 'voltage', 'u16', { scale: 0.1, unit: 'V' })(({ reading }) => reading.acVoltageV),
  meter(1, 'frequency', 'u16', { scale: 0.01, unit: 'Hz' })(({ reading }) => reading.acFrequencyHz),
  meter(2, 'current', 'i32', { scale: 0.001, unit: 'A' })(({ reading }) =>
    reading.acVoltageV > 0 ? reading.flows.gridW / reading.acVoltageV : 0,
  ),
  meter(4, 'power', 'i32', { unit: 'W, import positive' })(({ reading }) => reading.flows.gridW),
  meter(6, 'load_power', 'i32', { unit: 'W' })(({ reading }) => reading.flows.loadW),
  meter(8, 'energy_import', 'u32', { unit: 'Wh' })(({ reading }) => reading.state.energy.gridInWh),
  meter(10, 'energy_export', 'u32', { unit: 'Wh' })(({ reading }) => reading.state.energy.gridOutWh),
];

export const REGISTERS: readonly Register[] = [...INVERTER_INPUTS, ...INVERTER_SETTINGS, ...METER];

function faultBits({ happening, state }: PlantReading): number {
  const flags = [happening.grid, happening.fan, happening.battery_line, state.battery.overheated];
  return flags.reduce((bits, isSet, index) => bits | (Number(isSet) << index), 0);
}

/** What one register, or each of its two words, holds now. */
export function wordsOf(register: Register, state: PlantState): number[] {
  const raw = Math.round(register.read(state) / register.scale);
  if (WORDS[register.type] === 1) return [raw & 0xffff];
  return [(raw >>> 16) & 0xffff, raw & 0xffff];
}

/** The map as a table for people. */
export function registerTable(): string {
  const lines = REGISTERS.map(({ unitId, table, address, name, type, scale, unit, write }) =>
    [
      `  ${unitId}`.padEnd(7),
      table.padEnd(17),
      String(address).padEnd(9),
      type.padEnd(6),
      (scale === 1 ? '' : String(scale)).padEnd(7),
      (write ? 'rw' : 'r').padEnd(4),
      unit === '' ? name : `${name} (${unit})`,
    ].join(''),
  );
  return ['  unit table            address  type  scale  use name', ...lines].join('\n');
}
