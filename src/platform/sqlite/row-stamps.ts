/** Moments of creation and change, in all tables alike, follow the clock once it is right (decision 0025). */
import type { StampCorrection } from '../clock/index.ts';
import type { Database } from './database.ts';

const MOMENT = /^(created|updated|uploaded|changed|attempted)_at_ms$/;

/** Returns what corrects them in one transaction. @param except names of tables that are left as they are */
export function rowStampsOf(
  database: Database,
  except: readonly string[],
): (correction: StampCorrection) => void {
  const statements = columnsOf(database)
    .filter(({ table, column }) => MOMENT.test(column) && !except.includes(table))
    .map(({ table, column }) =>
      // The same as `correctedStamp` and `isWrongStamp` say.
      database.prepare<StampCorrection>(`UPDATE ${table} SET ${column} =
        min(max(${column} + iif(${column} < @plausibleFromMs, @jumpMs, @backMs), @earliestMs), @nowMs)
        WHERE ${column} < @plausibleFromMs OR ${column} > @aheadFromMs`),
    );
  return (correction) =>
    database.transaction(() => {
      for (const statement of statements) statement.run({ ...correction });
    });
}

function columnsOf(database: Database): { table: string; column: string }[] {
  const columns = `SELECT list.name AS "table", info.name AS "column"
    FROM pragma_table_list AS list, pragma_table_info(list.name) AS info
    WHERE list.schema = 'main' AND list.type = 'table'`;
  return database.prepare<[], { table: string; column: string }>(columns).all();
}
