/**
 * Names, types and units as inverters of published blueprints have them: each lists profiles of the revision of August
 * 2025 (docs/interface/blueprints.md#profiles).
 */
import { manifestWith } from './support.ts';

const STATUS = 'enum: ["off", standby, starting, operating, shutting_down, fault]';
const NAMEPLATE = [
  'vendor string',
  'model string',
  'serial_number string',
  'inverter_nameplate_capacity integer VA',
];
const BATTERY_PROPERTIES = [
  'battery_nameplate_capacity float Wh',
  'battery_type string enum: [lead_based, lithium_based, nickel_based, flow, sodium_based, other]',
];
const BATTERY = [
  'battery_voltage float V',
  'battery_current float A',
  'battery_power float W',
  'battery_soc float %',
  'battery_soh float %',
  'battery_temperature float Cel',
];
const THREE_PHASES = [
  'ac_frequency float Hz',
  'ac_total_power float W',
  ...[1, 2, 3].flatMap((phase) => [
    `ac_l${phase}_voltage float V`,
    `ac_l${phase}_current float A`,
    `ac_l${phase}_power float W`,
  ]),
];

/** `name type unit`, `name type enum: […]`, each with ` = reference` where the author refers to a member. */
function entries(lines: readonly string[]): string {
  return lines
    .map((line) => {
      const [declaration = '', reference] = line.split(' = ');
      const [, name, type, rest = ''] = /^(\S+) (\S+) ?(.*)$/.exec(declaration) ?? [];
      const detail = rest === '' ? '' : rest.startsWith('enum') ? `, ${rest}` : `, unit: '${rest}'`;
      const implement = reference === undefined ? '' : `, implements: [${reference}]`;
      return `  ${name}: {display_name: N, type: ${type}${detail}${implement}}\n`;
    })
    .join('');
}

function manifest(
  profiles: readonly string[],
  properties: readonly string[],
  telemetry: readonly string[],
): string {
  return manifestWith(
    `implements: [${profiles.join(', ')}]\nproperties:\n${entries(properties)}telemetry:\n${entries(telemetry)}`,
  );
}

const FACTOR = 'lib.energy.power_quality.power_factor';
const TEMPERATURES = [
  'heatsink_temperature float Cel = lib.energy.inverter.temperature.inverter_heatsink_temperature',
  'internal_temperature float Cel = lib.energy.inverter.temperature.inverter_internal_temperature',
];

export const PUBLISHED: Record<string, string> = {
  'a three-phase battery inverter with a meter of reactive power': manifest(
    [
      'energy.battery_inverter.3_phase',
      'lib.energy.battery.temperature',
      'lib.energy.battery.soh',
      'lib.energy.inverter.residual_current',
      `${FACTOR}.totals`,
    ],
    [...NAMEPLATE, ...BATTERY_PROPERTIES],
    [
      `status string ${STATUS}`,
      ...THREE_PHASES,
      ...BATTERY,
      'grid_total_power float W',
      `ac_power_reactive float VAR = ${FACTOR}.totals.ac_total_power_reactive`,
      `ac_power_apparent float VA = ${FACTOR}.totals.ac_total_power_apparent`,
      'ac_power_factor float',
      'residual_current float A = lib.energy.inverter.residual_current.inverter_residual_current',
      'load_power float W = energy.battery_inverter.3_phase.load_total_power',
    ],
  ),
  'a hybrid inverter that lists a profile and its parts': manifest(
    [
      'energy.battery_inverter.3_phase',
      'lib.energy.inverter.grid.status',
      'lib.energy.inverter.grid.power',
      'lib.energy.inverter.load.power',
      'lib.energy.inverter.temperature',
      'lib.energy.battery.temperature',
      'lib.energy.battery.soh',
      'lib.energy.battery.energy',
      'lib.energy.pv.throttling',
      'lib.energy.pv.current',
      'lib.energy.pv.power',
      'lib.energy.pv.stats.energy.today',
      'lib.energy.pv.stats.energy.total',
    ],
    [...NAMEPLATE, ...BATTERY_PROPERTIES],
    [
      `status string ${STATUS}`,
      ...THREE_PHASES,
      ...BATTERY,
      ...TEMPERATURES,
      'battery_charged_energy_total float Wh',
      'battery_discharged_energy_total float Wh',
      'grid_status string enum: [disconnected, connected, fault]',
      'grid_power float W = energy.battery_inverter.3_phase.grid_total_power',
      'load_total_power float W',
      'pv_throttled boolean',
      'pv_current float A = lib.energy.pv.current.pv_total_current',
      'pv_total_power float W',
      'pv_energy_total float Wh',
      'pv_energy_today float Wh',
    ],
  ),
  'a photovoltaic inverter whose attributes stand for several members': manifest(
    [
      'energy.pv_inverter.1_phase',
      `${FACTOR}.1_phase`,
      `${FACTOR}.totals`,
      'lib.energy.inverter.ac.energy.today',
      'lib.energy.inverter.ac.energy.total',
      'lib.energy.inverter.temperature',
    ],
    NAMEPLATE,
    [
      `status string ${STATUS}`,
      'dc_power float W = energy.pv_inverter.1_phase.pv_total_power',
      'ac_total_power float W',
      'ac_power float W = energy.pv_inverter.1_phase.ac_l1_power',
      'ac_frequency float Hz',
      'ac_voltage float V = energy.pv_inverter.1_phase.ac_l1_voltage',
      'ac_current float A = energy.pv_inverter.1_phase.ac_l1_current',
      `ac_power_var float VAR = ${FACTOR}.1_phase.ac_l1_power_reactive, ${FACTOR}.totals.ac_total_power_reactive`,
      `ac_power_va float VA = ${FACTOR}.1_phase.ac_l1_power_apparent, ${FACTOR}.totals.ac_total_power_apparent`,
      `ac_cos_phi float = ${FACTOR}.1_phase.ac_l1_power_factor, ${FACTOR}.totals.ac_power_factor`,
      ...TEMPERATURES,
      'ac_energy_total float Wh',
      'ac_energy_today float Wh',
    ],
  ),
};
