/** Words of the energy of the site: sources, what flows from where to where. */
import type { DurationS } from '../../lib/time.ts';
import type { energySource } from './tables.ts';

/** Where energy comes from; `unmeasured` is what no source accounts for. */
export const ORIGINS = ['pv', 'generator', 'battery', 'grid', 'unmeasured'] as const;
export type Origin = (typeof ORIGINS)[number];

/** Where energy goes: `battery` is charging, `grid` is export, `losses` is what no use accounts for. */
export const USES = ['load', 'electrolyser', 'ev_charger', 'battery', 'grid', 'losses'] as const;
export type Use = (typeof USES)[number];

/** Which attributes of a device say what it does, and which way round. */
export type SourceChoice = Omit<typeof energySource.$inferSelect, 'position'>;
export type EnergyRole = SourceChoice['role'];

export interface EnergySource extends SourceChoice {
  /** The profile that says so; null: a person said it. */
  profile: string | null;
}

export interface EnergySettings {
  /** Two values further apart than this are not connected, and an older value is not one of now. */
  gapAfterS: DurationS;
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
  /** Everything that is consumed, electrolyser and EV charger included; undefined: the rest of the balance. */
  consumption: number | undefined;
}

/** From every origin to every use, row by row. */
export type FlowMatrix = Float64Array<ArrayBuffer>;

export const flowIndex = (origin: Origin, use: Use): number =>
  ORIGINS.indexOf(origin) * USES.length + USES.indexOf(use);
