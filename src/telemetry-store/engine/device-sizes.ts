/** Bytes of history.db by device: the one with the most loses data first when room is needed. */
import type { BlockStore } from './block-store.ts';
import type { PartDirectory } from './part-directory.ts';
import type { Series } from '../codec/series.ts';

/** The series of one device and their size. */
interface DeviceShare {
  deviceId: string;
  seriesIds: number[];
  sizeBytes: number;
}

/** Blocks are counted again only after a change; parts are few and counted each time. */
export class DeviceSizes {
  readonly #store: BlockStore;
  readonly #blockBytes = new Map<number, number>();

  constructor(store: BlockStore) {
    this.#store = store;
  }

  /** Blocks of the series were added or removed. */
  changed(seriesId: number): void {
    this.#blockBytes.delete(seriesId);
  }

  /** The device with the most bytes among those that `isAsked`; slow where many blocks are still to be counted. */
  async largest(
    { definitions, parts }: { definitions: ReadonlyMap<number, Series>; parts: PartDirectory },
    isAsked: (deviceId: string) => boolean,
    pause: () => Promise<void>,
  ): Promise<DeviceShare | undefined> {
    const shares = new Map<string, DeviceShare>();
    for (const { id, deviceId } of definitions.values()) {
      if (!isAsked(deviceId)) continue;
      const share = shares.getOrInsertComputed(deviceId, () => ({ deviceId, seriesIds: [], sizeBytes: 0 }));
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
