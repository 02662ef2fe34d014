/** Sources, origins and uses of the energy of the site. */
import type { DurationS } from '../../lib/time.ts';
import type { energySource } from './tables.ts';

/** Where energy comes from; `unmeasured`: no source accounts for it. */
export const ORIGINS = ['pv', 'generator', 'battery', 'grid', 'unmeasured'] as const;
export type Origin = (typeof ORIGINS)[number];

/** Where energy goes: `battery` is charging, `grid` is export, `losses`: no use accounts for it. */
export const USES = ['load', 'electrolyser', 'ev_charger', 'heat_pump', 'battery', 'grid', 'losses'] as const;
export type Use = (typeof USES)[number];

/** The attributes of a device that measure a role, and their sign. */
export type SourceChoice = Omit<typeof energySource.$inferSelect, 'position'>;
export type EnergyRole = SourceChoice['role'];

export interface EnergySource extends SourceChoice {
  /** The profile that it follows from, or the device of the library; null: a person chose it. */
  profile: string | null;
}

export interface EnergySettings {
  /** Values further apart are not connected, and an older value is not current. */
  gapAfterS: DurationS;
  /** W: nothing at the site has more; larger values are left out. */
  powerMaxW: number;
}

/** Powers in W or energies in Wh of one interval, each at least zero. */
export interface Reading {
  pv: number;
  generator: number;
  discharge: number;
  charge: number;
  import: number;
  export: number;
  electrolyser: number;
  evCharger: number;
  heatPump: number;
  /** Total consumption, electrolyser, EV charger and heat pump included; undefined: the rest of the balance. */
  consumption: number | undefined;
}

/** From every origin to every use, row by row. */
export type FlowMatrix = Float64Array<ArrayBuffer>;

export const flowIndex = (origin: Origin, use: Use): number =>
  ORIGINS.indexOf(origin) * USES.length + USES.indexOf(use);
