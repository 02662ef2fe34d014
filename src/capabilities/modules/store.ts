/** Rows of what scripts of devices keep. */
import { and, eq, ne, sql } from 'drizzle-orm';
import { type Database, excluded, placeholders } from '../../platform/sqlite/index.ts';
import { deviceStorage } from './tables.ts';

export type StorageStore = ReturnType<typeof createStorageStore>;

export function createStorageStore({ orm }: Database) {
  const { deviceId, key, value } = deviceStorage;
  const ofDevice = eq(deviceId, sql.placeholder('deviceId'));
  const isEntry = and(ofDevice, eq(key, sql.placeholder('key')));
  const read = orm.select({ value }).from(deviceStorage).where(isEntry).prepare();
  const write = orm
    .insert(deviceStorage)
    .values(placeholders(deviceStorage))
    .onConflictDoUpdate({ target: [deviceId, key], set: excluded(deviceStorage, 'value') })
    .prepare();
  const remove = orm.delete(deviceStorage).where(isEntry).prepare();
  const bytesBeside = orm
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${key}) + octet_length(${value})), 0)` })
    .from(deviceStorage)
    .where(and(ofDevice, ne(key, sql.placeholder('key'))))
    .prepare();

  return {
    read: (device: string, name: string): Buffer | undefined =>
      read.get({ deviceId: device, key: name })?.value,
    write: (device: string, name: string, bytes: Buffer): void =>
      void write.run({ deviceId: device, key: name, value: bytes }),
    remove: (device: string, name: string): void => void remove.run({ deviceId: device, key: name }),
    /** Bytes of a device's keys and values, without those of one key. */
    bytesBeside: (device: string, name: string): number =>
      bytesBeside.get({ deviceId: device, key: name })?.bytes ?? 0,
  };
}
