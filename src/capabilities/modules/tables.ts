/** Table of state.db with the storage of device scripts. */
import { blob, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowRules } from '../../platform/sqlite/index.ts';

export const deviceStorage = sqliteTable(
  'device_storage',
  {
    /** Id of the device. */
    scope: text('device_id').notNull(),
    key: text('key').notNull(),
    value: blob('value', { mode: 'buffer' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.scope, table.key] })],
);

/** Checks of these tables' rows; the start repairs damaged rows or moves them away. */
export const moduleRows = [rowRules({ table: deviceStorage })];
