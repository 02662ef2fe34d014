/** Table of state.db with the values of configuration parameters that were set; defaults are in the manifest. */
import { sql } from 'drizzle-orm';
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { rowRules } from '../../platform/sqlite/index.ts';

export const deviceConfiguration = sqliteTable(
  'device_configuration',
  {
    deviceId: text('device_id').notNull(),
    group: text('group_name').notNull(),
    parameter: text('parameter').notNull(),
    value: text('value', { mode: 'json' }).$type<unknown>().notNull(),
    /** What the manifest said when it was set. */
    type: text('type').notNull(),
    isSensitive: integer('sensitive', { mode: 'boolean' }).notNull(),
    updatedAtMs: integer('updated_at_ms').$type<EpochMs>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.deviceId, table.group, table.parameter] })],
);

/** Checks of these tables' rows; the start repairs damaged rows or moves them away. */
export const configurationRows = [
  rowRules({
    table: deviceConfiguration,
    json: { value: 'any' },
    // Rather hidden than shown.
    repairs: { isSensitive: { isSensitive: sql`1` }, updatedAtMs: { updatedAtMs: sql`0` } },
  }),
];
