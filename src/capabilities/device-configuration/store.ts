/** Rows of configuration values that were set. */
import { and, sql } from 'drizzle-orm';
import type { EpochMs } from '../../lib/time.ts';
import type { SecretSealer } from '../../platform/files/index.ts';
import { type Database, given, upsert } from '../../platform/sqlite/index.ts';
import { parseWritableJson } from '../../lib/json.ts';
import type { StoredValue } from './model.ts';
import { deviceConfiguration } from './tables.ts';

/** Sensitive values are sealed; one whose key is missing counts as not set. */
export function createConfigurationStore({ orm }: Database, sealer: SecretSealer) {
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

  const opened = (row: StoredValue): StoredValue[] => {
    if (!row.isSensitive || sealer.isClear(row.value)) return [row];
    const text = sealer.open<string>(row.value as string);
    return text === undefined ? [] : [{ ...row, value: parseWritableJson(text) }];
  };

  return {
    /** Values of one group by parameter. */
    group: (id: string, name: string): Map<string, StoredValue> =>
      new Map(
        selectGroup
          .all({ deviceId: id, group: name })
          .flatMap(opened)
          .map((row) => [row.parameter, row]),
      ),
    ofDevice: (id: string): StoredValue[] => selectDevice.all({ deviceId: id }).flatMap(opened),
    put: (id: string, stored: StoredValue, updatedAtMs: EpochMs): void => {
      // Stored as text, since JSON of the sealer does not keep long numbers exact.
      const value = stored.isSensitive ? sealer.seal(JSON.stringify(stored.value)) : stored.value;
      put.run({ ...stored, value, deviceId: id, updatedAtMs });
    },
    remove: (id: string, groupName: string, name: string): void =>
      void remove.run({ deviceId: id, group: groupName, parameter: name }),
    removeGroup: (id: string, name: string): void => void removeGroup.run({ deviceId: id, group: name }),
  };
}
