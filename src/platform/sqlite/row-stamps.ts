/** Moments of creation and change, in all tables alike, follow the clock once it is right (decision 0025). */
import { getTableColumns, getTableName } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { StampCorrection } from '../clock/index.ts';
import type { Database } from './database.ts';
import { restampOf } from './orm.ts';

const MOMENT = /^(created|updated|uploaded|changed|attempted)_at_ms$/;

/** Returns what corrects them in one transaction. @param except names of tables that are left as they are */
export function rowStampsOf(
  database: Database,
  tables: readonly SQLiteTable[],
  except: readonly string[],
): (correction: StampCorrection) => void {
  const statements = tables
    .filter((table) => !except.includes(getTableName(table)))
    .flatMap((table) => Object.values<SQLiteColumn>(getTableColumns(table)))
    .filter(({ name }) => MOMENT.test(name))
    .map((column) => restampOf(database, column));
  return (correction) =>
    database.transaction(() => {
      for (const statement of statements) statement.run({ ...correction });
    });
}
