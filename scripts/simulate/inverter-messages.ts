/** What the inverter says over MQTT: exactly the names that the built-in battery-inverter blueprint declares. */
import { BATTERY, terminals } from './battery.ts';
import { RATED_POWER_VA } from './inverter.ts';
import type { Plant, PlantReading } from './plant.ts';

export const FIRMWARE_VERSION = '3.4.1';

/** Properties; they rarely change. */
export function propertiesOf(serialNumber: string): Record<string, unknown> {
  return {
    vendor: 'Sample Works',
    model: 'HX-6000',
    serial_number: serialNumber,
    firmware_version: FIRMWARE_VERSION,
    battery_nominal_voltage: BATTERY.nominalVoltageV,
    battery_nameplate_capacity: BATTERY.capacityWh,
    battery_type: 'lithium_based',
    inverter_nameplate_capacity: RATED_POWER_VA,
    commissioned_by: 'simulator',
  };
}

/** One telemetry message without its timestamp; a value that cannot be read is left out. */
export function telemetryOf(
  reading: PlantReading,
  plant: Pick<Plant, 'settings'>,
  alerts: readonly string[],
): Record<string, unknown> {
  const { flows, state, happening } = reading;
  const fault = happening.battery_line || state.battery.overheated;
  return {
    status: statusOf(reading, plant, fault),
    inverter_status: inverterStatusOf(reading, plant, fault),
    mode: plant.settings.mode,
    ac_total_power: round(flows.acW, 1),
    ac_frequency: round(reading.acFrequencyHz, 3),
    ac_l1_voltage: round(reading.acVoltageV, 1),
    ac_l1_current: reading.acVoltageV > 0 ? round(Math.abs(flows.acW) / reading.acVoltageV, 2) : 0,
    ac_l1_power: round(flows.acW, 1),
    pv_total_power: round(flows.pvW, 1),
    pv_energy_lifetime: round(state.energy.pvWh, 1),
    grid_total_power: round(flows.gridW, 1),
    grid_energy_in_lifetime: round(state.energy.gridInWh, 1),
    grid_energy_out_lifetime: round(state.energy.gridOutWh, 1),
    load_total_power: round(flows.loadW, 1),
    battery_energy_in_lifetime: round(state.energy.batteryInWh, 1),
    battery_energy_out_lifetime: round(state.energy.batteryOutWh, 1),
    charge_limit_w: plant.settings.chargeLimitW,
    grid_connected: !happening.grid,
    internal_fan_speed: Math.round(flows.fanSpeedRpm),
    ...(happening.battery_line ? {} : batteryOf(reading)),
    conn_alerts: happening.battery_line ? ['communication_failed'] : [],
    alerts,
  };
}

function batteryOf(reading: PlantReading): Record<string, unknown> {
  const { flows, state } = reading;
  const { voltageV, currentA } = terminals(state.battery, flows.batteryW);
  return {
    battery_charge_status: chargeStatusOf(reading),
    battery_soc: round(reading.socPercent, 2),
    battery_voltage: round(voltageV, 2),
    battery_current: round(currentA, 2),
    battery_power: round(flows.batteryW, 1),
    battery_temperature: round(state.battery.temperatureC, 1),
  };
}

function chargeStatusOf(reading: PlantReading): string {
  if (reading.flows.batteryW > 5) return 'discharging';
  if (reading.flows.batteryW < -5) return 'charging';
  return reading.socPercent > 99 ? 'float' : 'idle';
}

function statusOf(reading: PlantReading, plant: Pick<Plant, 'settings'>, fault: boolean): string {
  if (fault) return 'fault';
  if (!plant.settings.running) return 'standby';
  const charge = chargeStatusOf(reading);
  return charge === 'float' ? 'idle' : charge;
}

function inverterStatusOf(reading: PlantReading, plant: Pick<Plant, 'settings'>, fault: boolean): string {
  if (fault) return 'fault';
  if (!plant.settings.running) return 'standby';
  if (reading.flows.throttled) return 'throttled';
  return Math.abs(reading.flows.acW) > 25 ? 'operating' : 'idle';
}

/** A decimal with so many digits; a monotonic series stays monotonic. */
function round(value: number, digits: number): number {
  const factor = 10 ** digits;
  return Math.round(value * factor) / factor + 0;
}
