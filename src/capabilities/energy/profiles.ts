/**
 * Roles of devices by their profiles. Signs are those of the sample blueprint: battery power is positive
 * while discharging, grid power while importing. A person can invert a device that counts the other way.
 *
 * Several devices may measure the same thing, for instance an inverter and the battery behind it: only the
 * devices of the lowest `rank` count for a role, together.
 */
import * as v from 'valibot';
import type { CompiledManifest } from '../blueprints/index.ts';
import type { EnergyRole, EnergySource } from './model.ts';
import { ROLES } from './tables.ts';

interface Mapping {
  /** Profile, without its part after the last point where it comes in kinds: `energy.hybrid_inverter.1_phase`. */
  profile: string;
  role: EnergyRole;
  rank: number;
  power: string;
  stateOfCharge?: string;
  energyForward?: string;
  energyReverse?: string;
}

const BATTERY = {
  role: 'battery',
  power: 'battery_power',
  stateOfCharge: 'battery_soc',
  energyForward: 'battery_energy_out_lifetime',
  energyReverse: 'battery_energy_in_lifetime',
} as const;
const GRID = {
  role: 'grid',
  power: 'grid_total_power',
  energyForward: 'grid_energy_in_lifetime',
  energyReverse: 'grid_energy_out_lifetime',
} as const;
const LOAD = { role: 'load', power: 'load_total_power', energyForward: 'load_energy_lifetime' } as const;
const PV = { role: 'pv', power: 'pv_total_power', energyForward: 'pv_energy_lifetime' } as const;

const MAPPINGS: readonly Mapping[] = [
  { profile: 'energy.hybrid_inverter', rank: 1, ...PV },
  { profile: 'energy.hybrid_inverter', rank: 1, ...BATTERY },
  { profile: 'energy.hybrid_inverter', rank: 1, ...GRID },
  { profile: 'energy.hybrid_inverter', rank: 1, ...LOAD },
  { profile: 'energy.battery_inverter', rank: 1, ...BATTERY },
  { profile: 'energy.battery_inverter', rank: 1, ...GRID },
  { profile: 'energy.battery_inverter', rank: 1, ...LOAD },
  // The power behind the inverter is what reaches the house.
  {
    profile: 'energy.pv_inverter',
    rank: 1,
    role: 'pv',
    power: 'ac_total_power',
    energyForward: 'ac_energy_lifetime',
  },
  { profile: 'energy.pv_charge_controller', rank: 1, ...PV },
  { profile: 'energy.battery', rank: 2, ...BATTERY },
  { profile: 'energy.pv_charge_controller', rank: 3, ...BATTERY },
  {
    profile: 'energy.fuel_cell',
    rank: 1,
    role: 'generator',
    power: 'output_power',
    energyForward: 'energy_generated_lifetime',
  },
  { profile: 'energy.electrolyser', rank: 1, role: 'electrolyser', power: 'power_consumption' },
];

/** A role as a blueprint of the library names it. Other blueprints may write anything there. */
const declaredRole = v.object({
  role: v.picklist(ROLES),
  power: v.optional(v.string()),
  forward: v.optional(v.string()),
  reverse: v.optional(v.string()),
  soc: v.optional(v.string()),
  inverted: v.optional(v.boolean(), false),
  power_max_w: v.optional(v.pipe(v.number(), v.gtValue(0))),
});
const declaredRoles = v.array(declaredRole);

/**
 * Rank of what a blueprint declares: a meter at the grid measures what inverters only calculate, and the battery behind
 * an inverter is counted there. A battery that knows the grid has an inverter of its own.
 */
function rankOf(role: EnergyRole, category: unknown, all: ReadonlySet<EnergyRole>): number {
  if ((role === 'grid' || role === 'load') && category === 'power-meters') return 0;
  return role === 'battery' && category === 'battery-systems' && !all.has('grid') ? 2 : 1;
}

interface Ranked {
  rank: number;
  source: EnergySource;
  /** Its power or counter has had a value. */
  hasSent: boolean;
  /** The device makes it of its own powers. */
  isCalculated?: boolean;
}

const DELIVERING: ReadonlySet<EnergyRole> = new Set(['pv', 'battery', 'generator']);

/** An inverter does not see what others deliver to the house, so its load is that of the site only if nothing else does. */
function isPartial({ isCalculated, source }: Ranked, counted: readonly Ranked[]): boolean {
  return (
    isCalculated === true &&
    counted.some(({ source: { role, deviceId } }) => DELIVERING.has(role) && deviceId !== source.deviceId)
  );
}

type Unsent = Omit<Ranked, 'hasSent'>;

/** The roles that the manifest declares itself; undefined: it declares none, so its profiles count. */
function declaredSources(id: string, manifest: CompiledManifest): Unsent[] | undefined {
  const declared = v.safeParse(declaredRoles, manifest['.energy']);
  if (!declared.success) return undefined;
  const attribute = (name: string | undefined): string | null =>
    name !== undefined && isReadable(manifest, name) ? name : null;
  const roles = new Set(declared.output.map(({ role }) => role));
  return declared.output
    .map(({ role, power, forward, reverse, soc, inverted, power_max_w: powerMaxW = null }): Unsent => ({
      rank: rankOf(role, manifest['category'], roles),
      isCalculated: role === 'load' && roles.size > 1,
      source: {
        role,
        deviceId: id,
        power: attribute(power),
        isInverted: inverted,
        stateOfCharge: attribute(soc),
        energyForward: attribute(forward),
        energyReverse: attribute(reverse),
        powerMaxW,
        profile: originName(manifest),
      },
    }))
    .filter(({ source }) => source.power !== null || source.energyForward !== null);
}

function originName(manifest: CompiledManifest): string {
  const { template } = (manifest['.library'] ?? {}) as { template?: unknown };
  return typeof template === 'string' ? template : manifest.display_name;
}

/** A role that a device has as well, but which another device counts for. */
interface OtherSource {
  source: EnergySource;
  countedDeviceId: string;
}

/** Sources that blueprints and profiles give: those that count, and those that measure the same once more. */
export interface DerivedSources {
  counted: EnergySource[];
  others: OtherSource[];
}

/**
 * Sources of energy by blueprints and by the profiles of devices; attributes that not everybody may read are left out.
 *
 * @param devices in the order in which they were added
 * @param hasSent whether an attribute of a device has had a value
 */
export function sourcesOfProfiles(
  devices: readonly { id: string; manifest: CompiledManifest }[],
  hasSent: (deviceId: string, attribute: string) => boolean,
): DerivedSources {
  const all: Unsent[] = [];
  for (const { id, manifest } of devices) {
    const declared = declaredSources(id, manifest);
    all.push(...(declared ?? []));
    for (const mapping of declared ? [] : MAPPINGS) {
      const profile = manifest.implements.find(
        (name) => name === mapping.profile || /^\.\d_phase$/.test(afterPrefix(name, mapping.profile)),
      );
      const readable = (name: string | undefined): string | null =>
        name !== undefined && isReadable(manifest, name) ? name : null;
      const power = readable(mapping.power);
      if (profile === undefined || power === null) continue;
      all.push({
        rank: mapping.rank,
        source: {
          role: mapping.role,
          deviceId: id,
          power,
          isInverted: false,
          stateOfCharge: readable(mapping.stateOfCharge),
          energyForward: readable(mapping.energyForward),
          energyReverse: readable(mapping.energyReverse),
          powerMaxW: null,
          profile,
        },
      });
    }
  }
  const found = all.map((one): Ranked => {
    const { deviceId, power, energyForward } = one.source;
    return {
      ...one,
      hasSent: [power, energyForward].some((name) => name !== null && hasSent(deviceId, name)),
    };
  });
  const counted = found.filter((ranked) => betterOf(ranked, found) === undefined);
  return {
    counted: counted.filter((ranked) => !isPartial(ranked, counted)).map(({ source }) => source),
    others: found.flatMap((ranked): OtherSource[] => {
      const better = betterOf(ranked, found);
      return better ? [{ source: ranked.source, countedDeviceId: better.source.deviceId }] : [];
    }),
  };
}

/**
 * The source that counts instead: one of a lower rank. A house has one connection to the grid, so of several devices of
 * that rank that measure it the first counts, and never their sum. What has never had a value, such as the grid of an
 * inverter without a sensor, goes behind what has.
 */
function betterOf({ rank, source }: Ranked, found: readonly Ranked[]): Ranked | undefined {
  const all = found.filter((other) => other.source.role === source.role);
  const sending = all.filter((other) => other.hasSent);
  const rivals = sending.length > 0 ? sending : all;
  const best = rivals.reduce((one, other) => (other.rank < one.rank ? other : one));
  const isSame = source.role === 'grid' ? best.source.deviceId === source.deviceId : best.rank === rank;
  return isSame ? undefined : best;
}

/** Property of the profile `lib.energy.inverter.nameplate`, in VA. */
export const NAMEPLATE = 'inverter_nameplate_capacity';
/** Roles whose power goes through the inverter; that of a meter or of the house does not. */
const THROUGH_INVERTER: ReadonlySet<EnergyRole> = new Set(['pv', 'battery', 'generator']);
/**
 * G: the panels of an inverter may have twice its rated power, and charge a battery beside it. What 16 bits show for
 * "not available", 32 767 or 65 535 W, is more for inverters of up to 10 or 20 kVA.
 */
const TIMES_RATED = 3;

/** The largest power of a role by an inverter's nameplate; undefined when it has none, or no usable one. */
export function maxPowerOfNameplateW(role: EnergyRole, nameplate: unknown): number | undefined {
  if (typeof nameplate !== 'number' || !(nameplate > 0) || !THROUGH_INVERTER.has(role)) return undefined;
  return nameplate * TIMES_RATED;
}

const afterPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : '';

function isReadable(manifest: CompiledManifest, name: string): boolean {
  if (!Object.hasOwn(manifest.telemetry, name)) return false;
  const { type, access_level: level } = manifest.telemetry[name] ?? {};
  return (type === 'float' || type === 'integer') && level === 'readonly';
}

/** Watts or watt-hours per unit of the attribute; undefined for another unit. */
export function unitFactor(
  manifest: CompiledManifest,
  name: string,
  quantity: 'W' | 'Wh',
): number | undefined {
  const unit = manifest.telemetry[name]?.unit;
  if (unit === undefined || unit === quantity) return 1;
  const prefix = unit.slice(0, 1);
  if (unit.slice(1) !== quantity) return undefined;
  return { m: 1e-3, k: 1e3, M: 1e6, G: 1e9 }[prefix];
}
