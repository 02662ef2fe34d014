/** The devices of workload W: five kinds with twenty signals each. */

type Curve = 'sun' | 'load';

export type SignalDefinition = { name: string; decimals: number } & (
  | { form: 'drift'; base: number; swing: number; noise: number; dayShare: number; curve: Curve }
  | { form: 'power'; peak: number; noise: number; curve: Curve }
  | { form: 'counter'; perSecond: number; curve: Curve }
  | { form: 'uptime' }
  | { form: 'setpoint'; steps: readonly number[]; dwellS: number }
  | { form: 'state'; words: readonly string[]; dwellS: number }
  | { form: 'switch'; dwellS: number }
);

const drift = (
  name: string,
  decimals: number,
  base: number,
  swing: number,
  noise: number,
  dayShare = 0,
  curve: Curve = 'load',
): SignalDefinition => ({ form: 'drift', name, decimals, base, swing, noise, dayShare, curve });
const power = (name: string, peak: number, noise: number, curve: Curve): SignalDefinition => ({
  form: 'power',
  name,
  decimals: 0,
  peak,
  noise,
  curve,
});
const counter = (name: string, decimals: number, perSecond: number, curve: Curve): SignalDefinition => ({
  form: 'counter',
  name,
  decimals,
  perSecond,
  curve,
});
const setpoint = (
  name: string,
  decimals: number,
  steps: readonly number[],
  dwellS: number,
): SignalDefinition => ({ form: 'setpoint', name, decimals, steps, dwellS });
const state = (name: string, words: readonly string[], dwellS: number): SignalDefinition => ({
  form: 'state',
  name,
  decimals: 0,
  words,
  dwellS,
});
const toggle = (name: string, dwellS: number): SignalDefinition => ({
  form: 'switch',
  name,
  decimals: 0,
  dwellS,
});
const uptime: SignalDefinition = { form: 'uptime', name: 'uptime', decimals: 0 };

const phases = (name: string, make: (phase: string, index: number) => SignalDefinition): SignalDefinition[] =>
  ['l1', 'l2', 'l3'].map((phase, index) => make(`${name}_${phase}`, index));

/** Twenty signals for each kind of device. */
export const DEVICE_KINDS: Record<string, readonly SignalDefinition[]> = {
  pv_inverter: [
    state('status', ['operating', 'idle', 'starting', 'fault', 'standby'], 2_400),
    state('mode', ['mppt', 'limited', 'off'], 7_200),
    ...phases('grid_voltage', (name, index) => drift(name, 1, [2310, 2305, 2312][index] ?? 0, 40, 1.2)),
    drift('grid_frequency', 2, 5_000, 3, 0.8),
    drift('pv1_voltage', 1, 5_800, 300, 4, 0.3, 'sun'),
    drift('pv2_voltage', 1, 5_750, 300, 4, 0.3, 'sun'),
    drift('pv1_current', 2, 820, 40, 3, 1, 'sun'),
    drift('pv2_current', 2, 810, 40, 3, 1, 'sun'),
    drift('inverter_temperature', 1, 420, 60, 0.4, 0.3, 'sun'),
    power('ac_power', 9_500, 12, 'sun'),
    power('pv1_power', 4_800, 8, 'sun'),
    power('pv2_power', 4_700, 8, 'sun'),
    counter('energy_total', 2, 0.264, 'sun'),
    counter('energy_today', 3, 2.64, 'sun'),
    uptime,
    setpoint('power_limit', 0, [100, 100, 100, 80, 60, 30], 10_800),
    setpoint('cos_phi', 2, [100, 95, 90], 43_200),
    toggle('grid_connected', 20_000),
  ],
  battery: [
    state('status', ['charging', 'discharging', 'idle', 'balancing', 'fault'], 1_800),
    state('mode', ['auto', 'manual', 'backup'], 14_400),
    drift('dc_voltage', 1, 5_120, 120, 1.5, 0.05),
    drift('dc_current', 1, 240, 180, 5, 0.6),
    drift('soc', 1, 620, 250, 0.05),
    drift('soh', 1, 981, 1, 0.01),
    drift('cell_voltage_min', 3, 3_281, 25, 0.8),
    drift('cell_voltage_max', 3, 3_312, 25, 0.8),
    drift('cell_temperature_min', 1, 231, 20, 0.2),
    drift('cell_temperature_max', 1, 262, 25, 0.2),
    drift('coolant_temperature', 1, 224, 15, 0.5),
    power('power', 6_000, 20, 'load'),
    power('charge_power_limit', 7_000, 0.2, 'load'),
    counter('energy_charged', 2, 0.16, 'sun'),
    counter('energy_discharged', 2, 0.15, 'load'),
    uptime,
    setpoint('power_setpoint', 0, [0, 0, 1_000, 2_500, 5_000, -3_000], 1_200),
    setpoint('soc_min', 0, [20, 20, 30, 10], 86_400),
    toggle('contactor_closed', 15_000),
    toggle('cooling_on', 900),
  ],
  meter: [
    ...phases('voltage', (name, index) => drift(name, 1, [2308, 2311, 2303][index] ?? 0, 40, 1.2)),
    ...phases('current', (name, index) => drift(name, 2, [1450, 1320, 1510][index] ?? 0, 300, 9, 0.5)),
    drift('frequency', 2, 5_000, 3, 0.8),
    drift('power_factor', 2, 96, 2, 0.4),
    power('active_power', 9_800, 35, 'load'),
    ...phases('active_power', (name, index) => power(name, [3300, 3100, 3400][index] ?? 0, 20, 'load')),
    power('reactive_power', 1_500, 15, 'load'),
    counter('energy_import', 2, 0.2, 'load'),
    counter('energy_export', 2, 0.1, 'sun'),
    counter('energy_reactive', 2, 0.05, 'load'),
    uptime,
    state('status', ['ok', 'warning', 'error'], 7_200),
    setpoint('ct_ratio', 0, [100], 1e9),
    toggle('relay', 3_600),
  ],
  electrolyser: [
    state('status', ['hydrogen_production', 'steady', 'ramp_up', 'ramp_down', 'standby', 'error'], 1_200),
    state('state', ['operational', 'maintenance', 'expert'], 20_000),
    drift('stack_voltage', 2, 4_620, 150, 2.5),
    drift('stack_current', 2, 5_200, 600, 6, 0.4, 'sun'),
    drift('electrolyte_temperature', 1, 551, 30, 0.3),
    drift('inner_h2_pressure', 1, 291, 20, 0.6),
    drift('outer_h2_pressure', 1, 285, 20, 0.5),
    drift('water_pressure', 1, 24, 4, 0.4),
    drift('electrolyte_flow', 1, 38, 4, 0.7),
    drift('water_inlet_temperature', 1, 186, 20, 0.15),
    drift('control_board_temperature', 1, 402, 30, 0.3),
    power('power', 2_400, 6, 'sun'),
    drift('h2_flow', 1, 4_986, 80, 2, 0.5, 'sun'),
    counter('h2_total', 2, 0.139, 'sun'),
    uptime,
    setpoint('production_rate', 0, [60, 100, 80, 90, 75], 1_800),
    setpoint('max_pressure', 0, [30, 35], 86_400),
    toggle('dryer_on', 2_400),
    toggle('vent_open', 600),
    toggle('heater_on', 300),
  ],
  climate: [
    drift('ambient_temperature', 1, 182, 60, 0.25, 0.2, 'sun'),
    drift('ambient_humidity', 1, 561, 90, 0.8),
    drift('irradiance', 0, 820, 30, 4, 1, 'sun'),
    drift('module_temperature', 1, 312, 80, 0.4, 0.5, 'sun'),
    drift('wind_speed', 1, 42, 20, 5),
    drift('wind_direction', 0, 190, 60, 6),
    drift('pressure', 1, 10_132, 30, 0.3),
    drift('room_temperature', 1, 221, 15, 0.15),
    drift('supply_temperature', 1, 352, 30, 0.3),
    drift('return_temperature', 1, 301, 25, 0.3),
    drift('flow_rate', 2, 112, 10, 0.9),
    power('heat_pump_power', 3_200, 10, 'load'),
    counter('heat_energy', 2, 0.09, 'load'),
    uptime,
    state('status', ['heating', 'cooling', 'idle', 'defrost'], 900),
    state('program', ['comfort', 'eco', 'away'], 21_600),
    setpoint('target_temperature', 1, [210, 215, 205, 190], 14_400),
    toggle('compressor_on', 420),
    toggle('pump_on', 1_200),
    toggle('door_open', 5_400),
  ],
};
