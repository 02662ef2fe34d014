/** Rows of configuration values that were set. */
import { and, eq, sql } from 'drizzle-orm';
import { type Database, excluded, placeholders } from '../../platform/sqlite/index.ts';
import type { StoredValue } from './model.ts';
import { deviceConfiguration } from './tables.ts';

export type ConfigurationStore = ReturnType<typeof createConfigurationStore>;

export function createConfigurationStore({ orm }: Database) {
  const { deviceId, group, parameter, value, type, isSensitive } = deviceConfiguration;
  const ofDevice = eq(deviceId, sql.placeholder('deviceId'));
  const ofGroup = and(ofDevice, eq(group, sql.placeholder('group')));
  const columns = { group, parameter, value, type, isSensitive };
  const selectGroup = orm.select(columns).from(deviceConfiguration).where(ofGroup).prepare();
  const selectDevice = orm
    .select(columns)
    .from(deviceConfiguration)
    .where(ofDevice)
    .orderBy(group, parameter)
    .prepare();
  const put = orm
    .insert(deviceConfiguration)
    .values(placeholders(deviceConfiguration))
    .onConflictDoUpdate({
      target: [deviceId, group, parameter],
      set: excluded(deviceConfiguration, 'value', 'type', 'isSensitive', 'updatedAtMs'),
    })
    .prepare();
  const remove = orm
    .delete(deviceConfiguration)
    .where(and(ofGroup, eq(parameter, sql.placeholder('parameter'))))
    .prepare();
  const removeGroup = orm.delete(deviceConfiguration).where(ofGroup).prepare();

  return {
    /** Values of one group by parameter. */
    group: (id: string, name: string): Map<string, StoredValue> =>
      new Map(selectGroup.all({ deviceId: id, group: name }).map((row) => [row.parameter, row])),
    ofDevice: (id: string): StoredValue[] => selectDevice.all({ deviceId: id }),
    put: (id: string, stored: StoredValue, updatedAtMs: number): void =>
      void put.run({ ...stored, deviceId: id, updatedAtMs }),
    remove: (id: string, groupName: string, name: string): void =>
      void remove.run({ deviceId: id, group: groupName, parameter: name }),
    removeGroup: (id: string, name: string): void => void removeGroup.run({ deviceId: id, group: name }),
  };
}
