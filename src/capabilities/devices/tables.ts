/** Tables of state.db with devices and their last properties. */
import { sql } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { rowRules } from '../../platform/sqlite/index.ts';
import { BUILT_IN_IDS } from '../blueprints/index.ts';
import { COMMUNICATION_TYPES, DEVICE_TYPES } from './model.ts';

export const device = sqliteTable('device', {
  id: text('id').primaryKey(),
  slug: text('slug').notNull(),
  name: text('name').notNull(),
  type: text('type', { enum: DEVICE_TYPES }).notNull(),
  blueprintId: text('blueprint_id').notNull(),
  communicationType: text('communication_type', { enum: COMMUNICATION_TYPES }).notNull(),
  upstreamId: text('upstream_id'),
  hardwareId: text('hardware_id'),
  channelId: text('channel_id'),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  updatedAtMs: integer('updated_at_ms').$type<EpochMs>().notNull(),
  assignmentCount: integer('assignment_count'),
});

/** Deleted and unknown devices of which history.db may still have data. */
export const departedDevice = sqliteTable('departed_device', {
  deviceId: text('device_id').primaryKey(),
  isDeleted: integer('is_deleted', { mode: 'boolean' }).notNull(),
  /** Hours that the gateway has run without knowing the device. */
  runningHours: integer('running_hours').notNull(),
});

export const deviceProperty = sqliteTable('device_property', {
  deviceId: text('device_id').primaryKey(),
  /** JSON object: property name → last value. */
  values: text('property_values').notNull(),
  receivedAtMs: integer('received_at_ms').$type<EpochMs>().notNull(),
});

/** The likely type of a damaged row, by its other columns. */
const likelyType = sql`CASE
  WHEN ${device.communicationType} = 'UCM_LUA' THEN 'LUA'
  WHEN ${device.blueprintId} = ${BUILT_IN_IDS.gateway} THEN 'GATEWAY'
  WHEN ${device.blueprintId} = ${BUILT_IN_IDS.communicationModule} THEN 'VIRTUAL_UCM'
  ELSE 'STANDALONE' END`;
/** The gateway and its built-in module are local. */
const isLocal = sql`${device.type} = 'GATEWAY' OR ${device.type} = 'VIRTUAL_UCM' AND NOT EXISTS (
  SELECT 1 FROM device AS other WHERE other.type = 'VIRTUAL_UCM' AND other.communication_type = 'MQTT_V1_LOCALHOST')`;
const hasCertificate = sql`EXISTS (SELECT 1 FROM device_certificate WHERE device_id = ${device.id})`;
const likelyBlueprint = sql`CASE ${device.type}
  WHEN 'GATEWAY' THEN ${BUILT_IN_IDS.gateway}
  WHEN 'VIRTUAL_UCM' THEN ${BUILT_IN_IDS.communicationModule}
  ELSE ${BUILT_IN_IDS.empty} END`;

/** Rows are repaired rather than moved away, because all data of a device, its history too, depends on its row. */
export const deviceRows = [
  rowRules({
    table: device,
    repairs: {
      slug: { slug: sql`${device.id}` },
      name: { name: sql`${device.id}` },
      type: { type: likelyType },
      blueprintId: { blueprintId: likelyBlueprint },
      communicationType: {
        communicationType: sql`CASE WHEN ${device.type} = 'LUA' THEN 'UCM_LUA' WHEN ${isLocal} THEN 'MQTT_V1_LOCALHOST'
          WHEN ${hasCertificate} THEN 'MQTT_V1_TLS' ELSE 'MQTT_V1_PLAINTEXT' END`,
      },
      upstreamId: { upstreamId: sql`NULL` },
      createdAtMs: { createdAtMs: sql`0` },
      updatedAtMs: { updatedAtMs: sql`0` },
      assignmentCount: { assignmentCount: sql`NULL` },
    },
  }),
  rowRules({ table: deviceProperty, json: { values: 'object' } }),
  rowRules({
    table: departedDevice,
    repairs: { isDeleted: { isDeleted: sql`0` }, runningHours: { runningHours: sql`0` } },
  }),
];
