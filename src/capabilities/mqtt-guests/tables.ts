/** The table of state.db with accounts of MQTT clients of other makers: hashes, never passwords. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';

export const mqttGuest = sqliteTable('mqtt_guest', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  username: text('username').notNull(),
  salt: blob('salt', { mode: 'buffer' }).notNull(),
  sha256: blob('password_sha256', { mode: 'buffer' }).notNull(),
  topics: text('topics', { mode: 'json' }).$type<string[]>().notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});
