/** Tables of state.db with devices and their last properties. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
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
  room: text('room'),
  notes: text('notes'),
  position: integer('position'),
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
