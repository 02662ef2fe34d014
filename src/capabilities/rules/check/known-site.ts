/** Devices of the site, and what scripts may name of them. */
import { ALERTS_KEY } from '../../../protocol/telemetry.ts';
import type { Device, Devices } from '../../devices/index.ts';
import { readableAttribute } from '../methods.ts';
import type { KnownDevice, KnownSite } from './script-check.ts';

type Declared = Readonly<Record<string, { aliases: readonly string[] }>>;

const namesOf = (declared: Declared): string[] =>
  Object.entries(declared).flatMap(([name, { aliases }]) => [name, ...aliases]);

/** As it is now. */
export function knownSite(devices: Pick<Devices, 'all' | 'find' | 'manifest'>): KnownSite {
  const known = (device: Device): KnownDevice => {
    const manifest = devices.manifest(device);
    const readable = namesOf(manifest.telemetry).filter(
      (name) => readableAttribute(manifest, name) !== undefined,
    );
    return {
      slug: device.slug,
      attribute: [...readable, ALERTS_KEY],
      property: namesOf(manifest.properties),
      command: namesOf(manifest.commands),
    };
  };
  let all: KnownDevice[] | undefined;
  return {
    device: (idOrSlug) => {
      const device = devices.find(idOrSlug);
      return device && known(device);
    },
    devices: () => (all ??= devices.all().map(known)),
  };
}
