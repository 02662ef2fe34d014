/** Tables of state.db with who is told of alerts, what is to be told, and what became of it. */
import { sql } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowRules } from '../../platform/sqlite/index.ts';
import { ALERT_SEVERITIES } from '../alerts/index.ts';
import { CHANNEL_TYPES, DELIVERY_STATUSES, type Secrets, type Settings } from './model.ts';

export const notificationChannel = sqliteTable('notification_channel', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  type: text('type', { enum: CHANNEL_TYPES }).notNull(),
  isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
  minimumSeverity: text('minimum_severity', { enum: ALERT_SEVERITIES }).notNull(),
  deviceIds: text('device_ids', { mode: 'json' }).$type<readonly string[]>().notNull(),
  notifiesCleared: integer('notifies_cleared', { mode: 'boolean' }).notNull(),
  settings: text('settings', { mode: 'json' }).$type<Settings>().notNull(),
  secrets: text('secrets', { mode: 'json' }).$type<Secrets>().notNull(),
  createdAtMs: integer('created_at_ms').notNull(),
});

export const notificationDelivery = sqliteTable('notification_delivery', {
  number: integer('number').primaryKey(),
  id: text('id').notNull(),
  channelId: text('channel_id').notNull(),
  kind: text('kind', { enum: ['ALERTS', 'TEST'] }).notNull(),
  status: text('status', { enum: DELIVERY_STATUSES }).notNull(),
  raisedCount: integer('raised_count').notNull(),
  clearedCount: integer('cleared_count').notNull(),
  omittedCount: integer('omitted_count').notNull(),
  attempts: integer('attempts').notNull(),
  createdAtMs: integer('created_at_ms').notNull(),
  attemptedAtMs: integer('attempted_at_ms'),
  error: text('error'),
});

export const notificationPending = sqliteTable('notification_pending', {
  number: integer('number').primaryKey(),
  channelId: text('channel_id').notNull(),
  alertNumber: integer('alert_number').notNull(),
  kind: text('kind', { enum: ['RAISED', 'CLEARED'] }).notNull(),
  /** NULL: of none yet. */
  deliveryNumber: integer('delivery_number'),
});

const { deviceIds, settings, type } = notificationChannel;

/** What the code reads of the settings of each type, as SQL of their JSON. */
const areUsable = sql`CASE ${type}
  WHEN 'EMAIL' THEN json_type(${settings}, '$.host') = 'text' AND json_type(${settings}, '$.port') = 'integer'
    AND json_type(${settings}, '$.from') = 'text' AND json_type(${settings}, '$.to') = 'array'
  WHEN 'WEBHOOK' THEN json_type(${settings}, '$.origin') = 'text'
  ELSE json_type(${settings}, '$.server') = 'text' AND json_type(${settings}, '$.topic') = 'text' END`;

export const notificationRows = [
  rowRules({
    table: notificationChannel,
    json: { deviceIds: 'array' },
    checks: {
      deviceIds: sql`NOT EXISTS (SELECT 1 FROM json_each(${deviceIds}) WHERE type != 'text')`,
      settings: areUsable,
    },
    // Rather told too much than nothing.
    repairs: {
      deviceIds: { deviceIds: sql`'[]'` },
      minimumSeverity: { minimumSeverity: sql`'info'` },
      notifiesCleared: { notifiesCleared: sql`1` },
      secrets: { secrets: sql`'{}'` },
    },
  }),
  rowRules({ table: notificationDelivery }),
  rowRules({ table: notificationPending }),
];
