/** Filter and order of the device list. Pure except for the remembered view. */
import { signal } from '@preact/signals';
import { compareNames } from '../by-name.ts';
import { typeName } from '../format.ts';
import { matchesSearch } from '../text-search.ts';
import type { LiveDevice } from '../live.ts';
import { isBlank } from '../main-values.ts';
import { say } from '../words/index.ts';

export type SortKey = 'trouble' | 'name' | 'kind' | 'status';

export interface ListView {
  text: string;
  /** Empty: all. */
  kind: string;
  profile: string;
  room: string;
  status: '' | 'trouble' | 'ONLINE' | 'OFFLINE';
  sort: SortKey;
  isDown: boolean;
}

/** Kept while a device is opened and left again. */
export const listView = signal<ListView>({
  text: '',
  kind: '',
  profile: '',
  room: '',
  status: '',
  sort: 'trouble',
  isDown: false,
});

export function kindOf({ device, manifest }: LiveDevice): string {
  if (device.type !== 'STANDALONE' && device.type !== 'LUA') return typeName(device.type);
  return manifest && !isBlank(manifest) ? manifest.display_name : say.devices.noBlueprintYet;
}

const alertsOf = ({ device }: LiveDevice): number => device.raised_alert_names?.length ?? 0;
const isOnline = ({ device }: LiveDevice): boolean => device.connectivity?.status === 'ONLINE';

function isTroubled(live: LiveDevice): boolean {
  return !isOnline(live) || alertsOf(live) > 0;
}

function fits(live: LiveDevice, { text, kind, profile, room, status }: ListView): boolean {
  const { name, slug, implemented_profiles: profiles } = live.device;
  if (!matchesSearch(`${name} ${slug}`, text)) return false;
  if (kind !== '' && kindOf(live) !== kind) return false;
  if (profile !== '' && !profiles.includes(profile)) return false;
  if (room !== '' && live.device.room !== room) return false;
  if (status === 'trouble') return isTroubled(live);
  return status === '' || isOnline(live) === (status === 'ONLINE');
}

const byName = (a: LiveDevice, b: LiveDevice): number => compareNames(a.device.name, b.device.name);

/** Alerts first, then what is offline. */
const rankOf = (live: LiveDevice): number => (alertsOf(live) > 0 ? 0 : isOnline(live) ? 2 : 1);

const ORDERS: Readonly<Record<SortKey, (a: LiveDevice, b: LiveDevice) => number>> = {
  trouble: (a, b) => rankOf(a) - rankOf(b),
  name: byName,
  kind: (a, b) => kindOf(a).localeCompare(kindOf(b)),
  status: (a, b) => Number(isOnline(a)) - Number(isOnline(b)),
};

/** Devices that fit, in order; those that are equal as they come. */
export function shownDevices(devices: readonly LiveDevice[], view: ListView): LiveDevice[] {
  const order = ORDERS[view.sort];
  const direction = view.isDown ? -1 : 1;
  return devices.filter((live) => fits(live, view)).toSorted((a, b) => direction * order(a, b));
}

/** The choices, in order. */
export function choicesOf(
  devices: readonly LiveDevice[],
  of: (live: LiveDevice) => readonly string[],
): string[] {
  return [...new Set(devices.flatMap(of))].toSorted((a, b) => a.localeCompare(b));
}
