/** Tables of state.db with notification channels, their pending changes and their deliveries. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { type Present } from '../../platform/sqlite/index.ts';
import { ALERT_SEVERITIES } from '../alerts/index.ts';
import { CHANNEL_KINDS, type RuleMessage, type Secrets, type Settings } from './model.ts';

export const notificationChannel = sqliteTable('notification_channel', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  kind: text('kind', { enum: CHANNEL_KINDS }).notNull(),
  isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
  minimumSeverity: text('minimum_severity', { enum: ALERT_SEVERITIES }).notNull(),
  deviceIds: text('device_ids', { mode: 'json' }).$type<readonly string[]>().notNull(),
  notifiesCleared: integer('notifies_cleared', { mode: 'boolean' }).notNull(),
  settings: text('settings', { mode: 'json' }).$type<Settings>().notNull(),
  /** Sealed. */
  secrets: text('secrets', { mode: 'json' }).$type<Secrets | string>().notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  /** Changes dropped because too many waited; the next message names the number. */
  omittedCount: integer('omitted_count').notNull(),
});

export const DELIVERY_KINDS = ['ALERTS', 'TEST', 'RULE'] as const;
export const DELIVERY_STATUSES = ['SENDING', 'RETRYING', 'DELIVERED', 'FAILED'] as const;

/** Messages of channels, each with all changes since the last one. */
export const notificationDelivery = sqliteTable('notification_delivery', {
  /** Grows with every delivery. */
  number: integer('number').primaryKey(),
  /** Sent with the message, the same in every attempt. */
  id: text('id').notNull(),
  channelId: text('channel_id').notNull(),
  kind: text('kind', { enum: DELIVERY_KINDS }).notNull(),
  status: text('status', { enum: DELIVERY_STATUSES }).notNull(),
  raisedCount: integer('raised_count').notNull(),
  clearedCount: integer('cleared_count').notNull(),
  /** Alerts that it does not list because there were too many. */
  omittedCount: integer('omitted_count').notNull(),
  attempts: integer('attempts').notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  attemptedAtMs: integer('attempted_at_ms').$type<EpochMs>(),
  /** Why the last attempt failed, a sentence. */
  error: text('error'),
  /** Message of a rule; of kind RULE. */
  message: text('message', { mode: 'json' }).$type<RuleMessage>(),
});

export type Delivery = Readonly<Present<typeof notificationDelivery.$inferSelect>>;

/** Changes that channels have not sent yet. */
export const notificationPending = sqliteTable('notification_pending', {
  number: integer('number').primaryKey(),
  channelId: text('channel_id').notNull(),
  alertNumber: integer('alert_number').notNull(),
  kind: text('kind', { enum: ['RAISED', 'CLEARED'] }).notNull(),
  /** The delivery with this change; NULL: none yet. */
  deliveryNumber: integer('delivery_number'),
});

export type Pending = Readonly<Present<typeof notificationPending.$inferSelect>>;
