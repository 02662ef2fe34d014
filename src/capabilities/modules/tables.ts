/** Table of state.db with the storage of device scripts. */
import { blob, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';

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
