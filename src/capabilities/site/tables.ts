/** Table `site` of state.db; it has one row. */
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';

export const site = sqliteTable('site', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  timezone: text('timezone').notNull(),
  locationName: text('location_name'),
  latitude: real('latitude'),
  longitude: real('longitude'),
  archived: integer('archived', { mode: 'boolean' }).notNull().default(false),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});
