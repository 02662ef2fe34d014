/** How many bytes of history.db each device takes, so that the one with the most gives way first. */
import type { BlockStore } from './block-store.ts';
import type { PartDirectory } from './part-directory.ts';
import type { Series } from '../codec/series.ts';

/** What one device has in the store. */
interface DeviceShare {
  deviceId: string;
  seriesIds: number[];
  sizeBytes: number;
}

/** Counts blocks once and again only where they changed; parts are few and counted each time. */
export class DeviceSizes {
  readonly #store: BlockStore;
  readonly #blockBytes = new Map<number, number>();

  constructor(store: BlockStore) {
    this.#store = store;
  }

  /** Blocks of the series are others now. */
  changed(seriesId: number): void {
    this.#blockBytes.delete(seriesId);
  }

  /** The device with the most bytes of those that `isAsked`; resolves late where much was not counted yet. */
  async largest(
    { definitions, parts }: { definitions: ReadonlyMap<number, Series>; parts: PartDirectory },
    isAsked: (deviceId: string) => boolean,
    pause: () => Promise<void>,
  ): Promise<DeviceShare | undefined> {
    const shares = new Map<string, DeviceShare>();
    for (const { id, deviceId } of definitions.values()) {
      if (!isAsked(deviceId)) continue;
      const share = shares.get(deviceId) ?? { deviceId, seriesIds: [], sizeBytes: 0 };
      shares.set(deviceId, share);
      share.seriesIds.push(id);
      let blockBytes = this.#blockBytes.get(id);
      if (blockBytes === undefined) {
        this.#blockBytes.set(id, (blockBytes = this.#store.blockBytes(id)));
        await pause();
      }
      share.sizeBytes += blockBytes;
      for (const part of parts.ofSeries(id)) share.sizeBytes += this.#store.partBytes(part.id);
    }
    let largest: DeviceShare | undefined;
    for (const share of shares.values()) if (share.sizeBytes > (largest?.sizeBytes ?? 0)) largest = share;
    return largest;
  }
}
