/**
 * The physics of a single-phase hybrid inverter: panels and battery on one direct-current side, house and
 * grid on the other. Pure: state and input in, state and flows out. Signs as in the blueprint: battery power
 * positive while discharging, grid power positive while importing, so that photovoltaics + battery + grid =
 * load + loss at every moment.
 */
import {
  type BatteryState,
  chargeAcceptanceW,
  dischargeAbilityW,
  socPercent,
  stepBattery,
  wantedFanSpeedRpm,
} from './battery.ts';
import { clamp, type Surroundings } from './surroundings.ts';

export const MODES = ['self_consumption', 'backup', 'peak_shaving'] as const;
export type Mode = (typeof MODES)[number];

/** What people set, by command or configuration. */
export interface Settings {
  readonly running: boolean;
  readonly mode: Mode;
  readonly reservePercent: number;
  readonly chargeLimitW: number;
  readonly maxChargePowerW: number;
  readonly maxDischargePowerW: number;
  readonly minimumSocPercent: number;
  readonly feedInAllowed: boolean;
}

export interface InverterState {
  readonly battery: BatteryState;
  readonly energy: EnergyCounters;
}

/** Watt-hours since commissioning; they only grow. */
export interface EnergyCounters {
  readonly pvWh: number;
  readonly batteryInWh: number;
  readonly batteryOutWh: number;
  readonly gridInWh: number;
  readonly gridOutWh: number;
}

export interface InverterInput extends Surroundings {
  readonly settings: Settings;
  readonly gridConnected: boolean;
  readonly fanWorks: boolean;
  readonly batteryReachable: boolean;
}

/** Mean powers of one step. */
export interface Flows {
  readonly pvW: number;
  readonly batteryW: number;
  /** Delivered by the inverter to house and grid. */
  readonly acW: number;
  readonly gridW: number;
  readonly loadW: number;
  readonly lossW: number;
  /** The panels could have delivered more. */
  readonly throttled: boolean;
  readonly fanSpeedRpm: number;
}

export const RATED_POWER_VA = 6_000;
/** In the mode peak_shaving the battery takes over what exceeds this. */
const PEAK_W = 2_000;
/** Own consumption, and losses that grow with the power and with its square. */
const STANDBY_W = 20;
const LINEAR_LOSS = 0.018;
const SQUARE_LOSS_PER_W = 2e-6;

/** The inverter after `stepS` seconds (at most a minute, else the flows are too coarse). */
export function stepInverter(
  state: InverterState,
  input: InverterInput,
  stepS: number,
): { state: InverterState; flows: Flows } {
  const fanSpeedRpm = input.fanWorks ? wantedFanSpeedRpm(state.battery.temperatureC) : 0;
  const balance = input.gridConnected ? onGrid(state, input, stepS) : offGrid(state, input, stepS);
  const { pvW, batteryW, gridW } = balance;
  const hours = stepS / 3_600;
  const { energy } = state;
  return {
    flows: { ...balance, fanSpeedRpm },
    state: {
      battery: stepBattery(state.battery, { powerW: batteryW, ambientC: input.ambientC, fanSpeedRpm }, stepS),
      energy: {
        pvWh: energy.pvWh + pvW * hours,
        batteryInWh: energy.batteryInWh + Math.max(0, -batteryW) * hours,
        batteryOutWh: energy.batteryOutWh + Math.max(0, batteryW) * hours,
        gridInWh: energy.gridInWh + Math.max(0, gridW) * hours,
        gridOutWh: energy.gridOutWh + Math.max(0, -gridW) * hours,
      },
    },
  };
}

type Balance = Omit<Flows, 'fanSpeedRpm'>;

function onGrid(state: InverterState, input: InverterInput, stepS: number): Balance {
  const { settings, loadW } = input;
  const pvAvailableW = settings.running ? input.pvAvailableW : 0;
  const floorPercent = Math.max(settings.minimumSocPercent, settings.reservePercent);
  const batteryW = withinBattery(state, input, wantedBatteryW(state, input), floorPercent, stepS);
  const allowedAcW = settings.feedInAllowed ? RATED_POWER_VA : Math.min(RATED_POWER_VA, loadW);
  const { pvW, acW } = curtail(pvAvailableW, batteryW, allowedAcW);
  return {
    pvW,
    batteryW,
    acW,
    loadW,
    gridW: loadW - acW,
    lossW: pvW + batteryW - acW,
    throttled: pvW < pvAvailableW - 1,
  };
}

/**
 * Without a grid, nothing can be imported or exported: panels are reduced, and load that cannot be supplied is shed.
 */
function offGrid(state: InverterState, input: InverterInput, stepS: number): Balance {
  const dark: Balance = {
    pvW: 0,
    batteryW: 0,
    acW: 0,
    gridW: 0,
    loadW: 0,
    lossW: 0,
    throttled: input.pvAvailableW > 1,
  };
  if (!input.settings.running) return dark;
  const wantedLoadW = Math.min(input.loadW, RATED_POWER_VA);
  const missingW = dcOfAc(wantedLoadW) - input.pvAvailableW;
  const batteryW = withinBattery(state, input, missingW, input.settings.minimumSocPercent, stepS);
  const { pvW, acW } = curtail(input.pvAvailableW, batteryW, wantedLoadW);
  if (acW <= 0) return dark;
  return {
    pvW,
    batteryW,
    acW,
    loadW: acW,
    gridW: 0,
    lossW: pvW + batteryW - acW,
    throttled: pvW < input.pvAvailableW - 1,
  };
}

/** What the mode asks of the battery, before its own bounds. */
function wantedBatteryW(state: InverterState, input: InverterInput): number {
  const { settings, pvAvailableW, loadW } = input;
  if (!settings.running) return 0;
  const missingW = dcOfAc(loadW) - pvAvailableW;
  const belowReserve = socPercent(state.battery) < settings.reservePercent - 0.5;
  switch (settings.mode) {
    case 'self_consumption':
      return missingW;
    case 'backup':
      return belowReserve ? -settings.chargeLimitW : missingW;
    case 'peak_shaving':
      if (missingW < 0) return missingW;
      if (missingW > dcOfAc(PEAK_W)) return missingW - dcOfAc(PEAK_W);
      return belowReserve ? -Math.min(settings.chargeLimitW, PEAK_W - missingW) : 0;
  }
}

function withinBattery(
  state: InverterState,
  input: InverterInput,
  wantedW: number,
  floorPercent: number,
  stepS: number,
): number {
  if (!input.batteryReachable) return 0;
  const { settings } = input;
  const chargeW = Math.min(
    settings.chargeLimitW,
    settings.maxChargePowerW,
    chargeAcceptanceW(state.battery, stepS),
  );
  const dischargeW = Math.min(
    settings.maxDischargePowerW,
    dischargeAbilityW(state.battery, floorPercent, stepS),
  );
  // The bounds are never negative; adding zero turns a negative zero into a plain one.
  return clamp(wantedW, -chargeW, dischargeW) + 0;
}

/** Output for what panels and battery give; the panels give way when it would exceed `allowedAcW`. */
function curtail(pvAvailableW: number, batteryW: number, allowedAcW: number): { pvW: number; acW: number } {
  const acW = acOfDc(pvAvailableW + batteryW);
  if (acW <= allowedAcW) return { pvW: pvAvailableW, acW };
  const pvW = Math.max(0, dcOfAc(allowedAcW) - batteryW);
  return { pvW, acW: acOfDc(pvW + batteryW) };
}

/** Direct-current power that it takes to deliver `acW` (negative: taken from the alternating side). */
export function dcOfAc(acW: number): number {
  return acW + STANDBY_W + LINEAR_LOSS * Math.abs(acW) + SQUARE_LOSS_PER_W * acW * acW;
}

/** Inverse of `dcOfAc`: the root of its quadratic on the side where the power flows to. */
export function acOfDc(dcW: number): number {
  const surplusW = dcW - STANDBY_W;
  const slope = surplusW >= 0 ? 1 + LINEAR_LOSS : -(1 - LINEAR_LOSS);
  const root = Math.sqrt(Math.max(0, slope * slope + 4 * SQUARE_LOSS_PER_W * surplusW));
  const acW =
    surplusW >= 0 ? (root - slope) / (2 * SQUARE_LOSS_PER_W) : (slope + root) / (-2 * SQUARE_LOSS_PER_W);
  return surplusW >= 0 ? acW : -acW;
}
