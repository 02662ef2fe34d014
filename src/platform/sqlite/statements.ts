/** Conditions and prepared statements that many stores have alike. */
import { and, count, gte, lt, sql, type SQL } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { type Orm, placeholders } from './orm.ts';

/** A condition that restricts nothing while the parameter is NULL. */
export function unlessNull(parameter: string, condition: SQL): SQL {
  return sql`(${sql.placeholder(parameter)} IS NULL OR ${condition})`;
}

/** That a moment is within a range; parameters: those of `StampRange`. */
export function isWithin(column: SQLiteColumn): SQL | undefined {
  return and(gte(column, sql.placeholder('fromMs')), lt(column, sql.placeholder('beforeMs')));
}

/** How many rows meet the condition. */
export function countOf(orm: Orm, table: SQLiteTable, condition?: SQL) {
  const counted = orm.select({ count: count() }).from(table).where(condition).prepare();
  return (parameters: Record<string, unknown> = {}): number => counted.get(parameters)?.count ?? 0;
}

/** The highest number of a column; 0 without a row. */
export function highestOf(orm: Orm, column: SQLiteColumn, condition?: SQL) {
  const highest = orm
    .select({ number: sql<number | null>`max(${column})` })
    .from(column.table)
    .where(condition)
    .prepare();
  return (parameters: Record<string, unknown> = {}): number => highest.get(parameters)?.number ?? 0;
}

/** Sets these columns where the condition is met; parameters: the columns and those of the condition. */
export function updateOf<Table extends SQLiteTable>(
  orm: Orm,
  table: Table,
  condition: SQL | undefined,
  ...names: (keyof Table['$inferSelect'] & string)[]
) {
  return orm.update<SQLiteTable>(table).set(placeholders(table, names)).where(condition).prepare();
}

/** Deletes the rows whose key in this column the query finds. */
export function removalOf(orm: Orm, column: SQLiteColumn, rows: SQL) {
  return orm
    .delete(column.table)
    .where(sql`${column} IN ${rows}`)
    .prepare();
}
