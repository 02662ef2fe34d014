/**
 * Typed rows: drizzle over the one connection of a database. Tables are defined in the `tables.ts` of the
 * capability that owns them; the migration files stay the truth on disk, and a test holds the two together.
 */
import { type Column, getTableColumns, sql, type SQL } from 'drizzle-orm';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import type { SQLiteTable } from 'drizzle-orm/sqlite-core';
import type BetterSqlite3 from 'better-sqlite3';

export type Orm = BetterSQLite3Database & { readonly $client: BetterSqlite3.Database };

export function createOrm(handle: BetterSqlite3.Database): Orm {
  return drizzle(handle);
}

/**
 * A placeholder for each column, named like its property: the values of a prepared insert or update. NULL goes
 * through a column's encoder too, so no table has a column of JSON or of booleans that may be NULL.
 */
export function placeholders<Table extends SQLiteTable, Name extends keyof Table['$inferSelect'] & string>(
  table: Table,
  names = Object.keys(getTableColumns(table)) as Name[],
): Pick<Required<Table['$inferInsert']>, Name> {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as never;
}

/** The values that an insert had for these columns, for its ON CONFLICT DO UPDATE. */
export function excluded<Table extends SQLiteTable>(
  table: Table,
  ...names: (keyof Table['$inferSelect'] & string)[]
): Record<string, SQL> {
  const columns: Record<string, Column> = getTableColumns(table);
  return Object.fromEntries(names.map((name) => [name, sql.raw(`excluded.${columns[name]?.name ?? name}`)]));
}

type NullableKey<Row> = { [Key in keyof Row]: null extends Row[Key] ? Key : never }[keyof Row];

/** A row whose NULL columns are absent instead, as the models have it. */
export type Present<Row> = Omit<Row, NullableKey<Row>> & {
  [Key in NullableKey<Row>]?: NonNullable<Row[Key]>;
};

/** Leaves out what is NULL. */
export function present<Row extends object>(row: Row): Present<Row> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null)) as Present<Row>;
}

/** Whether a moment in milliseconds was given by a wrong clock; parameters: those of `StampCorrection`. */
export function isWrongStamp(column: Column): SQL {
  return sql`(${column} < ${sql.placeholder('plausibleFromMs')} OR ${column} > ${sql.placeholder('aheadFromMs')})`;
}

/** What such a moment becomes; the same as `correctStamp` says. */
export function correctedStamp(column: Column): SQL {
  const isBehind = sql`${column} < ${sql.placeholder('plausibleFromMs')}`;
  const shift = sql`iif(${isBehind}, ${sql.placeholder('jumpMs')}, ${sql.placeholder('backMs')})`;
  return sql`min(max(${column} + ${shift}, ${sql.placeholder('earliestMs')}), ${sql.placeholder('nowMs')})`;
}
