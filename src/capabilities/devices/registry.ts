/** All device records in memory, indexed by id, slug and address. */
import type { Device } from './model.ts';

export class Registry {
  readonly #byId = new Map<string, Device>();
  readonly #bySlug = new Map<string, Device>();
  readonly #byHardware = new Map<string, Map<string, Device>>();
  #sorted: readonly Device[] | undefined;

  constructor(devices: readonly Device[]) {
    for (const device of devices) this.put(device);
  }

  get count(): number {
    return this.#byId.size;
  }

  get(id: string): Device | undefined {
    return this.#byId.get(id);
  }

  find(idOrSlug: string): Device | undefined {
    return this.#byId.get(idOrSlug) ?? this.#bySlug.get(idOrSlug);
  }

  atAddress(hardwareId: string, channelId: string): Device | undefined {
    return this.#byHardware.get(hardwareId)?.get(channelId);
  }

  /** Every device of a hardware id: its owner and the devices that the owner carries. */
  atHardware(hardwareId: string): readonly Device[] {
    return [...(this.#byHardware.get(hardwareId)?.values() ?? [])];
  }

  /** By id ascending; the same array until something changes. */
  all(): readonly Device[] {
    return (this.#sorted ??= [...this.#byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  /** Adds the record, or replaces the one with the same id. */
  put(device: Device): void {
    const previous = this.#byId.get(device.id);
    if (previous) this.remove(previous);
    const { hardwareId, channelId } = device.communication;
    this.#byId.set(device.id, device);
    this.#bySlug.set(device.slug, device);
    if (hardwareId !== undefined && channelId !== undefined) {
      this.#byHardware.getOrInsertComputed(hardwareId, () => new Map()).set(channelId, device);
    }
    this.#sorted = undefined;
  }

  remove(device: Device): void {
    const { hardwareId, channelId } = device.communication;
    this.#byId.delete(device.id);
    this.#bySlug.delete(device.slug);
    if (hardwareId !== undefined && channelId !== undefined) {
      const channels = this.#byHardware.get(hardwareId);
      channels?.delete(channelId);
      if (channels?.size === 0) this.#byHardware.delete(hardwareId);
    }
    this.#sorted = undefined;
  }
}
