/** All device records in memory, by every key they are asked for. */
import type { Device } from './model.ts';

export interface Registry {
  get(id: string): Device | undefined;
  find(idOrSlug: string): Device | undefined;
  atAddress(hardwareId: string, channelId: string): Device | undefined;
  /** Every device of a hardware id: the one that owns it and those it carries. */
  atHardware(hardwareId: string): readonly Device[];
  /** By id ascending; the same array until something changes. */
  all(): readonly Device[];
  /** Adds, or takes the place of the record with the same id. */
  put(device: Device): void;
  remove(device: Device): void;
  readonly count: number;
}

export function createRegistry(devices: readonly Device[]): Registry {
  const byId = new Map<string, Device>();
  const bySlug = new Map<string, Device>();
  const byHardware = new Map<string, Map<string, Device>>();
  let sorted: readonly Device[] | undefined;

  function remove(device: Device): void {
    const { hardwareId, channelId } = device.communication;
    byId.delete(device.id);
    bySlug.delete(device.slug);
    if (hardwareId !== undefined && channelId !== undefined) {
      const channels = byHardware.get(hardwareId);
      channels?.delete(channelId);
      if (channels?.size === 0) byHardware.delete(hardwareId);
    }
    sorted = undefined;
  }

  function put(device: Device): void {
    const previous = byId.get(device.id);
    if (previous) remove(previous);
    const { hardwareId, channelId } = device.communication;
    byId.set(device.id, device);
    bySlug.set(device.slug, device);
    if (hardwareId !== undefined && channelId !== undefined) {
      let channels = byHardware.get(hardwareId);
      if (!channels) byHardware.set(hardwareId, (channels = new Map()));
      channels.set(channelId, device);
    }
    sorted = undefined;
  }

  for (const device of devices) put(device);
  return {
    get: (id) => byId.get(id),
    find: (idOrSlug) => byId.get(idOrSlug) ?? bySlug.get(idOrSlug),
    atAddress: (hardwareId, channelId) => byHardware.get(hardwareId)?.get(channelId),
    atHardware: (hardwareId) => [...(byHardware.get(hardwareId)?.values() ?? [])],
    all: () => (sorted ??= [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))),
    put,
    remove,
    get count() {
      return byId.size;
    },
  };
}
