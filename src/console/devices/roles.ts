/** Which role of energy a device has, by what the site counts. Pure. */
import { isOfBox } from '../translated-manifest.ts';
import type { Device } from '../shapes.ts';
import { ENERGY_ROLES, type PowerNow, type Role, type Source as SourceOnWire } from '../site/energy.ts';

/** A role, or the place for devices without one. */
export type Place = Role | 'other' | 'box';

type Source = PowerNow['sources'][number];

/** Roles in the order of an owner's day: sources first, then consumers. */
const ORDER: readonly Place[] = [
  'pv',
  'battery',
  'ev_charger',
  'heat_pump',
  'grid',
  'load',
  'generator',
  'electrolyser',
  'other',
  'box',
];

/** The facts of a device that are needed here. */
interface Known {
  device: Pick<Device, 'id' | 'type'>;
  values: ReadonlyMap<string, unknown>;
}

interface RoleGroup<Live> {
  place: Place;
  devices: Live[];
}

/** The first role of a device in the order of the picture; a hybrid inverter has several. */
function sourceOf({ device }: Known, sources: readonly Source[]): Source | undefined {
  return sources
    .filter(({ device_id: id }) => id === device.id)
    .toSorted((a, b) => ENERGY_ROLES.indexOf(a.role) - ENERGY_ROLES.indexOf(b.role))[0];
}

/** Devices by role, without empty groups. */
export function byRole<Live extends Known>(
  devices: readonly Live[],
  sources: readonly Source[],
): RoleGroup<Live>[] {
  const placeOf = (live: Known): Place =>
    isOfBox(live.device) ? 'box' : (sourceOf(live, sources)?.role ?? 'other');
  return ORDER.flatMap((place) => {
    const own = devices.filter((live) => placeOf(live) === place);
    return own.length > 0 ? [{ place, devices: own }] : [];
  });
}

/** The most telling values of each role, the most telling first. */
const TELLING: Readonly<Partial<Record<Place, readonly RegExp[]>>> = {
  pv: [/^pv(_total)?_power$/, /^(ac_)?(total_)?power$/],
  battery: [/^(battery_)?soc$/, /^(battery_|dc_)?(total_)?power$/],
  grid: [/^grid(_total)?_power$/, /^(ac_)?(total_)?power$/],
  load: [/^load(_total)?_power$/, /^(ac_)?(total_)?power$/],
  ev_charger: [/^charg\w*power$/, /power$/],
  heat_pump: [/^(ac_)?(total_)?power(_consumption)?$/, /power/],
  generator: [/power$/],
  electrolyser: [/power$/],
};

/** Names in the order of meaning for a device in this role, among those that it has ever sent. */
export function bestFirst(
  { values }: Pick<Known, 'values'>,
  names: readonly string[],
  place: Place,
): string[] {
  const telling = TELLING[place] ?? [];
  const rankOf = (name: string): number => {
    const found = telling.findIndex((pattern) => pattern.test(name));
    return (values.has(name) ? 0 : telling.length + 1) + (found < 0 ? telling.length : found);
  };
  return names.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** The share of a device in the energy of the site. */
export interface Counted {
  place: Place;
  /** Values, the most telling first. */
  names: string[];
}

/** The gateway and its modules. */
export const UNCOUNTED: Counted = { place: 'box', names: [] };

export function countedOf(
  device: Pick<Device, 'id' | 'type'>,
  sources: readonly Pick<SourceOnWire, 'device_id' | 'role' | 'power' | 'state_of_charge'>[],
): Counted {
  const own = sources
    .filter(({ device_id: id }) => id === device.id)
    .toSorted((a, b) => ENERGY_ROLES.indexOf(a.role) - ENERGY_ROLES.indexOf(b.role));
  const names = own.flatMap(({ power, state_of_charge: charge }) => [charge, power]);
  return {
    place: own[0]?.role ?? (isOfBox(device) ? 'box' : 'other'),
    names: [...new Set(names.filter((name) => name !== null))],
  };
}
