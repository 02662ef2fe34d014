/** Rows of configuration values that were set. */
import { and, sql } from 'drizzle-orm';
import type { EpochMs } from '../../lib/time.ts';
import { type Database, given, upsert } from '../../platform/sqlite/index.ts';
import { parseWritableJson } from '../../lib/json.ts';
import type { StoredValue } from './model.ts';
import { deviceConfiguration } from './tables.ts';

export function createConfigurationStore({ orm }: Database) {
  const { deviceId, group, parameter, type, isSensitive } = deviceConfiguration;
  const value = sql<unknown>`${deviceConfiguration.value}`.mapWith(parseWritableJson);
  const ofDevice = given(deviceId);
  const ofGroup = and(ofDevice, given(group));
  const columns = { group, parameter, value, type, isSensitive };
  const selectGroup = orm.select(columns).from(deviceConfiguration).where(ofGroup).prepare();
  const selectDevice = orm
    .select(columns)
    .from(deviceConfiguration)
    .where(ofDevice)
    .orderBy(group, parameter)
    .prepare();
  const put = upsert({ orm }, deviceConfiguration);
  const remove = orm
    .delete(deviceConfiguration)
    .where(and(ofGroup, given(parameter)))
    .prepare();
  const removeGroup = orm.delete(deviceConfiguration).where(ofGroup).prepare();

  return {
    /** Values of one group by parameter. */
    group: (id: string, name: string): Map<string, StoredValue> =>
      new Map(selectGroup.all({ deviceId: id, group: name }).map((row) => [row.parameter, row])),
    ofDevice: (id: string): StoredValue[] => selectDevice.all({ deviceId: id }),
    put: (id: string, stored: StoredValue, updatedAtMs: EpochMs): void =>
      void put.run({ ...stored, deviceId: id, updatedAtMs }),
    remove: (id: string, groupName: string, name: string): void =>
      void remove.run({ deviceId: id, group: groupName, parameter: name }),
    removeGroup: (id: string, name: string): void => void removeGroup.run({ deviceId: id, group: name }),
  };
}
