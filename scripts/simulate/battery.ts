/** The battery: sixteen lithium iron phosphate cells in series. Pure. Discharging is positive. */
import { clamp } from './surroundings.ts';

export const BATTERY = {
  capacityWh: 10_240,
  nominalVoltageV: 51.2,
  internalResistanceOhm: 0.012,
  /** Share of the charging power that is stored, and of the stored power that comes out. */
  chargeEfficiency: 0.975,
  dischargeEfficiency: 0.975,
  ratedPowerW: 5_000,
  heatCapacityJPerK: 15_000,
  /** Heat given to the air per kelvin: still air, and what the fan adds at full speed. */
  stillAirWPerK: 1.6,
  fanWPerK: 15,
  fanFullSpeedRpm: 4_500,
  overheatedC: 55,
  overheatedForS: 10,
  cooledC: 45,
} as const;

export interface BatteryState {
  readonly storedWh: number;
  readonly temperatureC: number;
  /** How long the temperature has been too high without a break. */
  readonly tooWarmS: number;
  /** Latched until cooled: no power either way. */
  readonly overheated: boolean;
}

export function socPercent(battery: Pick<BatteryState, 'storedWh'>): number {
  return (100 * battery.storedWh) / BATTERY.capacityWh;
}

/** Power towards the battery that it takes now without leaving its bounds within `stepS`. */
export function chargeAcceptanceW(battery: BatteryState, stepS: number): number {
  if (battery.overheated) return 0;
  const taper = clamp((100 - socPercent(battery)) / 5, 0, 1);
  const roomWh = BATTERY.capacityWh - battery.storedWh;
  return Math.min(
    BATTERY.ratedPowerW * taper * warmth(battery),
    (roomWh * 3_600) / (stepS * BATTERY.chargeEfficiency),
  );
}

/** Power from the battery that it gives now without falling below `floorPercent` within `stepS`. */
export function dischargeAbilityW(battery: BatteryState, floorPercent: number, stepS: number): number {
  if (battery.overheated) return 0;
  const aboveFloorWh = Math.max(0, battery.storedWh - (BATTERY.capacityWh * floorPercent) / 100);
  return Math.min(
    BATTERY.ratedPowerW * warmth(battery),
    (aboveFloorWh * 3_600 * BATTERY.dischargeEfficiency) / stepS,
  );
}

/** The battery after `powerW` (discharging positive) for `stepS`. */
export function stepBattery(
  battery: BatteryState,
  input: { powerW: number; ambientC: number; fanSpeedRpm: number },
  stepS: number,
): BatteryState {
  const { powerW } = input;
  const changeW = powerW > 0 ? -powerW / BATTERY.dischargeEfficiency : -powerW * BATTERY.chargeEfficiency;
  const heatW = Math.abs(Math.abs(changeW) - Math.abs(powerW));
  const toAirWPerK = BATTERY.stillAirWPerK + BATTERY.fanWPerK * (input.fanSpeedRpm / BATTERY.fanFullSpeedRpm);
  // Exact over the step: the temperature approaches its end value exponentially.
  const endC = input.ambientC + heatW / toAirWPerK;
  const kept = Math.exp((-stepS * toAirWPerK) / BATTERY.heatCapacityJPerK);
  const temperatureC = endC + (battery.temperatureC - endC) * kept;
  const tooWarmS = temperatureC > BATTERY.overheatedC ? battery.tooWarmS + stepS : 0;
  return {
    storedWh: clamp(battery.storedWh + (changeW * stepS) / 3_600, 0, BATTERY.capacityWh),
    temperatureC,
    tooWarmS,
    overheated: tooWarmS >= BATTERY.overheatedForS || (battery.overheated && temperatureC > BATTERY.cooledC),
  };
}

/** What the fan control asks for at this temperature. */
export function wantedFanSpeedRpm(temperatureC: number): number {
  return BATTERY.fanFullSpeedRpm * clamp((temperatureC - 28) / 17, 0, 1);
}

/** Open circuit voltage over state of charge: steep at both ends, flat between. */
const OPEN_CIRCUIT: readonly (readonly [number, number])[] = [
  [0, 46],
  [5, 50],
  [15, 51.6],
  [50, 52.6],
  [90, 53.4],
  [98, 54],
  [100, 55.6],
];

/** Voltage and current at the terminals; the current is positive while discharging. */
export function terminals(battery: BatteryState, powerW: number): { voltageV: number; currentA: number } {
  const emptyLoadV = interpolate(OPEN_CIRCUIT, socPercent(battery));
  // P = (U0 - I R) I, solved for the physical root.
  const root = Math.sqrt(Math.max(0, emptyLoadV ** 2 - 4 * BATTERY.internalResistanceOhm * powerW));
  const currentA = (emptyLoadV - root) / (2 * BATTERY.internalResistanceOhm);
  return { voltageV: emptyLoadV - currentA * BATTERY.internalResistanceOhm, currentA };
}

/** Above 52 °C less and less power, none at 62 °C. */
function warmth(battery: BatteryState): number {
  return clamp((62 - battery.temperatureC) / 10, 0, 1);
}

function interpolate(points: readonly (readonly [number, number])[], x: number): number {
  let [lastX, lastY] = points[0] ?? [0, 0];
  for (const [nextX, nextY] of points) {
    if (x <= nextX)
      return nextX === lastX ? nextY : lastY + ((nextY - lastY) * (x - lastX)) / (nextX - lastX);
    [lastX, lastY] = [nextX, nextY];
  }
  return lastY;
}
