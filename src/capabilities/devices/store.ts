/** Tables `device` and `device_property` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { CommunicationType, Device, DeviceType } from './model.ts';

interface DeviceRow {
  id: string;
  slug: string;
  name: string;
  type: string;
  blueprint_id: string;
  communication_type: string;
  upstream_id: string | null;
  hardware_id: string | null;
  channel_id: string | null;
  created_at_ms: number;
  updated_at_ms: number;
}

interface PropertyRow {
  device_id: string;
  property_values: string;
  received_at_ms: number;
}

/** The last received properties of one device. */
export interface StoredProperties {
  deviceId: string;
  values: Record<string, unknown>;
  receivedAtMs: number;
}

export type DeviceStore = ReturnType<typeof createDeviceStore>;

export function createDeviceStore(database: Database) {
  const selectDevices = database.prepare<[], DeviceRow>('SELECT * FROM device');
  const insertDevice = database.prepare<DeviceRow>(
    `INSERT INTO device (id, slug, name, type, blueprint_id, communication_type, upstream_id, hardware_id,
       channel_id, created_at_ms, updated_at_ms)
     VALUES (:id, :slug, :name, :type, :blueprint_id, :communication_type, :upstream_id, :hardware_id,
       :channel_id, :created_at_ms, :updated_at_ms)`,
  );
  const updateDevice = database.prepare<DeviceRow>(
    `UPDATE device SET slug = :slug, name = :name, blueprint_id = :blueprint_id,
       communication_type = :communication_type, updated_at_ms = :updated_at_ms WHERE id = :id`,
  );
  const deleteDevice = database.prepare<[string]>('DELETE FROM device WHERE id = ?');
  const selectProperties = database.prepare<[], PropertyRow>('SELECT * FROM device_property');
  const putProperties = database.prepare<PropertyRow>(
    `INSERT INTO device_property (device_id, property_values, received_at_ms)
     VALUES (:device_id, :property_values, :received_at_ms)
     ON CONFLICT (device_id) DO UPDATE SET property_values = excluded.property_values,
       received_at_ms = excluded.received_at_ms`,
  );

  return {
    all: (): Device[] => selectDevices.all().map(fromRow),
    insert: (device: Device): void => void insertDevice.run(toRow(device)),
    /** Name, slug, blueprint and type of communication; the rest of a device never changes. */
    update: (device: Device): void => void updateDevice.run(toRow(device)),
    remove: (id: string): void => void deleteDevice.run(id),
    allProperties: (): StoredProperties[] =>
      selectProperties.all().map((row) => ({
        deviceId: row.device_id,
        values: JSON.parse(row.property_values) as Record<string, unknown>,
        receivedAtMs: row.received_at_ms,
      })),
    putProperties: (deviceId: string, valuesText: string, receivedAtMs: number): void =>
      void putProperties.run({
        device_id: deviceId,
        property_values: valuesText,
        received_at_ms: receivedAtMs,
      }),
  };
}

function fromRow(row: DeviceRow): Device {
  return {
    id: row.id,
    slug: row.slug,
    name: row.name,
    type: row.type as DeviceType,
    blueprintId: row.blueprint_id,
    communication: {
      type: row.communication_type as CommunicationType,
      ...(row.upstream_id !== null && { upstreamId: row.upstream_id }),
      ...(row.hardware_id !== null && { hardwareId: row.hardware_id }),
      ...(row.channel_id !== null && { channelId: row.channel_id }),
    },
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  };
}

function toRow(device: Device): DeviceRow {
  const { type, upstreamId, hardwareId, channelId } = device.communication;
  return {
    id: device.id,
    slug: device.slug,
    name: device.name,
    type: device.type,
    blueprint_id: device.blueprintId,
    communication_type: type,
    upstream_id: upstreamId ?? null,
    hardware_id: hardwareId ?? null,
    channel_id: channelId ?? null,
    created_at_ms: device.createdAtMs,
    updated_at_ms: device.updatedAtMs,
  };
}
