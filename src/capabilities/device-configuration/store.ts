/** Values that were set: table `device_configuration` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { StoredValue } from './model.ts';

interface Row {
  group_name: string;
  parameter: string;
  value: string;
  type: string;
  sensitive: number;
}

export type ConfigurationStore = ReturnType<typeof createConfigurationStore>;

export function createConfigurationStore(database: Database) {
  const selectGroup = database.prepare<[string, string], Row>(
    'SELECT * FROM device_configuration WHERE device_id = ? AND group_name = ?',
  );
  const selectDevice = database.prepare<[string], Row>(
    'SELECT * FROM device_configuration WHERE device_id = ? ORDER BY group_name, parameter',
  );
  const put = database.prepare<[string, string, string, string, string, number, number]>(
    `INSERT INTO device_configuration (device_id, group_name, parameter, value, type, sensitive, updated_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (device_id, group_name, parameter) DO UPDATE SET value = excluded.value,
       type = excluded.type, sensitive = excluded.sensitive, updated_at_ms = excluded.updated_at_ms`,
  );
  const remove = database.prepare<[string, string, string]>(
    'DELETE FROM device_configuration WHERE device_id = ? AND group_name = ? AND parameter = ?',
  );
  const removeGroup = database.prepare<[string, string]>(
    'DELETE FROM device_configuration WHERE device_id = ? AND group_name = ?',
  );

  return {
    /** Values of one group by parameter. */
    group: (deviceId: string, group: string): Map<string, StoredValue> =>
      new Map(selectGroup.all(deviceId, group).map((row) => [row.parameter, fromRow(row)])),
    ofDevice: (deviceId: string): StoredValue[] => selectDevice.all(deviceId).map(fromRow),
    put: (deviceId: string, stored: StoredValue, updatedAtMs: number): void =>
      void put.run(
        deviceId,
        stored.group,
        stored.parameter,
        JSON.stringify(stored.value),
        stored.type,
        stored.isSensitive ? 1 : 0,
        updatedAtMs,
      ),
    remove: (deviceId: string, group: string, parameter: string): void =>
      void remove.run(deviceId, group, parameter),
    removeGroup: (deviceId: string, group: string): void => void removeGroup.run(deviceId, group),
  };
}

function fromRow(row: Row): StoredValue {
  return {
    group: row.group_name,
    parameter: row.parameter,
    value: JSON.parse(row.value),
    type: row.type,
    isSensitive: row.sensitive === 1,
  };
}
