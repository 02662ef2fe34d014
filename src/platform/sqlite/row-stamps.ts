/** Moments of creation and change, in all tables alike, follow the clock once it is right (decision 0025). */
import { getTableColumns } from 'drizzle-orm';
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { StampCorrection } from '../clock/index.ts';
import type { Database } from './database.ts';
import { restampOf } from './orm.ts';

const MOMENT = /^(created|updated|uploaded|changed|attempted)_at_ms$/;

/** Returns what corrects them in one transaction. */
export function rowStampsOf(
  database: Database,
  tables: readonly SQLiteTable[],
): (correction: StampCorrection) => void {
  const statements = tables
    .flatMap((table) => Object.values<SQLiteColumn>(getTableColumns(table)))
    .filter(({ name }) => MOMENT.test(name))
    .map((column) => restampOf(database, column));
  return (correction) =>
    database.transaction(() => {
      for (const statement of statements) statement.run({ ...correction });
    });
}

/** As the database calls it. */
export const tableName = (table: SQLiteTable): string => getTableConfig(table).name;
