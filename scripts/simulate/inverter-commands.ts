/** The commands of the battery-inverter blueprint, checked by the device itself as a real one would. */
import { type Mode, MODES } from './inverter.ts';
import type { Plant } from './plant.ts';
import { socPercent } from './battery.ts';

/** Accepted by `reset_energy_counters`; a sample device has no secrets. */
export const SERVICE_CODE = '2468';

/** Why the device does not do it; the text goes into the answer. */
export class CommandRefusal extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandRefusal';
  }
}

/** A checked command: what it says on the way, and what it does at the end. */
export interface CommandPlan {
  /** One progress message each. */
  readonly steps: readonly string[];
  /** Changes the plant and returns the result. */
  apply(): unknown;
}

type Arguments = Readonly<Record<string, unknown>>;

/** @throws CommandRefusal for an unknown command, a bad argument or a state that forbids it */
export function planCommand(
  plant: Plant,
  name: string,
  given: Arguments,
  battery: { overheated: boolean; storedWh: number },
): CommandPlan {
  const change = (settings: Partial<Plant['settings']>): void => {
    plant.settings = { ...plant.settings, ...settings };
  };
  switch (name) {
    case 'start':
      if (battery.overheated) throw new CommandRefusal('The battery is too warm; let it cool down first.');
      return {
        steps: ['closing the battery contactor', 'synchronising with the grid'],
        apply: () => change({ running: true }),
      };
    case 'stop':
      return { steps: ['ramping down'], apply: () => change({ running: false }) };
    case 'set_charge_limit': {
      const chargeLimitW = numberIn(given, 'limit_w', 0, 10_000);
      return { steps: [`setting the limit to ${chargeLimitW} W`], apply: () => change({ chargeLimitW }) };
    }
    case 'set_mode': {
      const mode = modeIn(given);
      const reservePercent =
        given.reserve_percent === undefined ? 20 : wholeIn(given, 'reserve_percent', 0, 100);
      return {
        steps: [`switching to ${mode} with ${reservePercent} % kept in reserve`],
        apply: () => change({ mode, reservePercent }),
      };
    }
    case 'read_settings':
      return {
        steps: [],
        apply: () => ({
          limit_w: plant.settings.chargeLimitW,
          mode: plant.settings.mode,
          reserve_percent: plant.settings.reservePercent,
        }),
      };
    case 'reset_energy_counters':
      if (given.service_code !== SERVICE_CODE) throw new CommandRefusal('The service code is wrong.');
      return {
        steps: [`counters reset at ${socPercent(battery).toFixed(0)} % state of charge`],
        apply: () => plant.resetEnergyCounters(),
      };
    default:
      throw new CommandRefusal(`This device has no command ${JSON.stringify(name)}.`);
  }
}

/** Takes over the group `limits` of a pushed configuration; a value of the wrong kind is left as it was. */
export function applyLimits(plant: Plant, configuration: Readonly<Record<string, unknown>>): string[] {
  const group = configuration.limits;
  if (typeof group !== 'object' || group === null) return [];
  const values = group as Record<string, unknown>;
  const taken: string[] = [];
  const number = (name: string, largest: number, set: (value: number) => void): void => {
    const value = values[name];
    if (typeof value !== 'number' || value < 0 || value > largest) return;
    set(value);
    taken.push(name);
  };
  const change = (settings: Partial<Plant['settings']>): void => {
    plant.settings = { ...plant.settings, ...settings };
  };
  number('max_charge_power_w', 10_000, (maxChargePowerW) => change({ maxChargePowerW }));
  number('max_discharge_power_w', 10_000, (maxDischargePowerW) => change({ maxDischargePowerW }));
  number('minimum_soc_percent', 100, (minimumSocPercent) => change({ minimumSocPercent }));
  if (typeof values.grid_feed_in_allowed === 'boolean') {
    change({ feedInAllowed: values.grid_feed_in_allowed });
    taken.push('grid_feed_in_allowed');
  }
  return taken;
}

function numberIn(given: Arguments, name: string, min: number, max: number): number {
  const value = given[name];
  if (typeof value !== 'number' || !(value >= min && value <= max))
    throw new CommandRefusal(`${name} must be a number from ${min} to ${max}.`);
  return value;
}

function wholeIn(given: Arguments, name: string, min: number, max: number): number {
  const value = numberIn(given, name, min, max);
  if (!Number.isInteger(value)) throw new CommandRefusal(`${name} must be a whole number.`);
  return value;
}

function modeIn(given: Arguments): Mode {
  const mode = MODES.find((known) => known === given.mode);
  if (mode === undefined) throw new CommandRefusal(`mode must be one of ${MODES.join(', ')}.`);
  return mode;
}
