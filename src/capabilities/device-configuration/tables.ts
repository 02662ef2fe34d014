/** Table of state.db with the values of configuration parameters that were set; defaults are in the manifest. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';

export const deviceConfiguration = sqliteTable(
  'device_configuration',
  {
    deviceId: text('device_id').notNull(),
    group: text('group_name').notNull(),
    parameter: text('parameter').notNull(),
    value: text('value', { mode: 'json' }).$type<unknown>().notNull(),
    /** Type of the parameter in the manifest when it was set. */
    type: text('type').notNull(),
    isSensitive: integer('sensitive', { mode: 'boolean' }).notNull(),
    updatedAtMs: integer('updated_at_ms').$type<EpochMs>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.deviceId, table.group, table.parameter] })],
);
