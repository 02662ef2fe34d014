/** Rows of devices and of their properties. */
import type { EpochMs } from '../../lib/time.ts';
import {
  absent,
  type Database,
  given,
  placeholders,
  placeholdersBut,
  present,
  upsert,
} from '../../platform/sqlite/index.ts';
import { parseWritableJson } from '../../lib/json.ts';
import type { Device } from './model.ts';
import { device, deviceProperty } from './tables.ts';

/** The last received properties of one device. */
interface StoredProperties {
  deviceId: string;
  values: Record<string, unknown>;
  receivedAtMs: EpochMs;
}

export type DeviceStore = ReturnType<typeof createDeviceStore>;

export function createDeviceStore({ orm }: Database) {
  const select = orm.select().from(device).prepare();
  const insert = orm.insert(device).values(placeholders(device)).prepare();
  const update = orm
    .update(device)
    .set(placeholdersBut(device, 'id', 'type', 'upstreamId', 'hardwareId', 'channelId', 'createdAtMs'))
    .where(given(device.id))
    .prepare();
  const remove = orm.delete(device).where(given(device.id)).prepare();
  const selectProperties = orm.select().from(deviceProperty).prepare();
  const putProperties = upsert({ orm }, deviceProperty);

  return {
    all: (): Device[] => select.all().map(deviceOf),
    insert: (given: Device): void => void insert.run(rowOf(given)),
    /** Updates all columns but type and address, which never change. */
    update: (given: Device): void => void update.run(rowOf(given)),
    remove: (id: string): void => void remove.run({ id }),
    allProperties: (): StoredProperties[] =>
      selectProperties
        .all()
        .map((row) => ({ ...row, values: parseWritableJson(row.values) as Record<string, unknown> })),
    putProperties: (deviceId: string, valuesText: string, receivedAtMs: EpochMs): void =>
      void putProperties.run({ deviceId, values: valuesText, receivedAtMs }),
  };
}

function deviceOf(row: typeof device.$inferSelect): Device {
  const { communicationType: type, upstreamId, hardwareId, channelId, ...rest } = row;
  return { ...present(rest), communication: { type, ...present({ upstreamId, hardwareId, channelId }) } };
}

function rowOf({ communication: { type, ...address }, ...rest }: Device): typeof device.$inferSelect {
  return { ...absent(device), ...rest, ...address, communicationType: type };
}
