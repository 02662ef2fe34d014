/** Table `site` of state.db; it has one row. */
import { sql } from 'drizzle-orm';
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { rowRules } from '../../platform/sqlite/index.ts';

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

/** Checks of these tables' rows; the start repairs damaged rows or moves them away. */
export const siteRows = [
  rowRules({
    table: site,
    repairs: {
      name: { name: sql`'Site'` },
      timezone: { timezone: sql`'UTC'` },
      locationName: { locationName: sql`NULL` },
      latitude: { latitude: sql`NULL` },
      longitude: { longitude: sql`NULL` },
      archived: { archived: sql`0` },
      createdAtMs: { createdAtMs: sql`0` },
    },
  }),
];
