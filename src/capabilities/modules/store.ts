/** Table `device_storage` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';

export type StorageStore = ReturnType<typeof createStorageStore>;

export function createStorageStore(database: Database) {
  const read = database
    .prepare<[string, string], Buffer>('SELECT value FROM device_storage WHERE device_id = ? AND key = ?')
    .pluck();
  const write = database.prepare<[string, string, Buffer]>(
    `INSERT INTO device_storage (device_id, key, value) VALUES (?, ?, ?)
     ON CONFLICT (device_id, key) DO UPDATE SET value = excluded.value`,
  );
  const remove = database.prepare<[string, string]>(
    'DELETE FROM device_storage WHERE device_id = ? AND key = ?',
  );
  const bytesBeside = database
    .prepare<[string, string], number>(
      `SELECT coalesce(sum(length(CAST(key AS BLOB)) + length(value)), 0) FROM device_storage
       WHERE device_id = ? AND key <> ?`,
    )
    .pluck();

  return {
    read: (deviceId: string, key: string): Buffer | undefined => read.get(deviceId, key),
    write: (deviceId: string, key: string, value: Buffer): void => void write.run(deviceId, key, value),
    remove: (deviceId: string, key: string): void => void remove.run(deviceId, key),
    /** Bytes of a device's keys and values, without those of one key. */
    bytesBeside: (deviceId: string, key: string): number => bytesBeside.get(deviceId, key) ?? 0,
  };
}
