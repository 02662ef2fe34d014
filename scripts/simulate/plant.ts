/** Inverter, surroundings and mishaps together, moved through the day in small steps. */
import { BATTERY, socPercent } from './battery.ts';
import {
  type EnergyCounters,
  type Flows,
  type InverterState,
  type Settings,
  stepInverter,
} from './inverter.ts';
import { createMishaps, type Happening, type Mishap } from './mishaps.ts';
import { createWander, type Random } from '../support/random.ts';
import { createSurroundings } from './surroundings.ts';

/** Longest step of the model; a fast day is cut into such steps. */
const STEP_MAX_S = 20;
const PV_PEAK_W = 7_200;

export interface PlantOptions {
  random: Random;
  /** Time of day at the start. */
  hourOfDay: number;
  socPercent: number;
  mishapsPerDay: number;
  /** Reading of the counters at the start. */
  energy: EnergyCounters;
  settings: Settings;
}

/** What instruments would show at the end of the last step. */
export interface PlantReading {
  readonly hourOfDay: number;
  readonly state: InverterState;
  readonly flows: Flows;
  readonly happening: Happening;
  readonly socPercent: number;
  readonly acVoltageV: number;
  readonly acFrequencyHz: number;
}

export interface Plant {
  settings: Settings;
  /** Moves the plant on by `durationS` seconds of its own day. */
  advance(durationS: number): PlantReading;
  provoke(mishap: Mishap): void;
  resetEnergyCounters(): void;
}

/** Default settings, those of the blueprint. */
export const DEFAULT_SETTINGS: Settings = {
  running: true,
  mode: 'self_consumption',
  reservePercent: 20,
  chargeLimitW: 5_000,
  maxChargePowerW: 5_000,
  maxDischargePowerW: 5_000,
  minimumSocPercent: 10,
  feedInAllowed: true,
};

export const NO_ENERGY: EnergyCounters = {
  pvWh: 0,
  batteryInWh: 0,
  batteryOutWh: 0,
  gridInWh: 0,
  gridOutWh: 0,
};

export function createPlant(options: PlantOptions): Plant {
  const surroundings = createSurroundings(options.random.fork(10), PV_PEAK_W);
  const mishaps = createMishaps(options.random.fork(11), options.mishapsPerDay);
  const voltage = createWander(options.random.fork(12), { mean: 231, deviation: 1.6, timeConstantS: 300 });
  const frequency = createWander(options.random.fork(13), { mean: 50, deviation: 0.015, timeConstantS: 60 });
  let hourOfDay = options.hourOfDay;
  let state: InverterState = {
    energy: options.energy,
    battery: {
      storedWh: (BATTERY.capacityWh * options.socPercent) / 100,
      temperatureC: 25,
      tooWarmS: 0,
      overheated: false,
    },
  };

  const step = (stepS: number): PlantReading => {
    hourOfDay = (hourOfDay + stepS / 3_600) % 24;
    const happening = mishaps.step(stepS);
    const next = stepInverter(
      state,
      {
        ...surroundings(hourOfDay, stepS),
        settings: plant.settings,
        gridConnected: !happening.grid,
        fanWorks: !happening.fan,
        batteryReachable: !happening.battery_line,
      },
      stepS,
    );
    state = next.state;
    const supplied = !happening.grid || next.flows.acW > 0;
    return {
      hourOfDay,
      state,
      flows: next.flows,
      happening,
      socPercent: socPercent(state.battery),
      // The wander goes on while the inverter makes its own, steady alternating current.
      acVoltageV: pick(happening.grid, 230, voltage(stepS)) * (supplied ? 1 : 0),
      acFrequencyHz: pick(happening.grid, 50, frequency(stepS)) * (supplied ? 1 : 0),
    };
  };

  const plant: Plant = {
    settings: options.settings,
    advance: (durationS) => {
      const steps = Math.max(1, Math.ceil(durationS / STEP_MAX_S));
      let reading = step(durationS / steps);
      for (let count = 1; count < steps; count += 1) reading = step(durationS / steps);
      return reading;
    },
    provoke: mishaps.provoke,
    resetEnergyCounters: () => {
      state = { ...state, energy: NO_ENERGY };
    },
  };
  return plant;
}

function pick(condition: boolean, yes: number, no: number): number {
  return condition ? yes : no;
}
