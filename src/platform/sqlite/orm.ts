/**
 * Typed rows: drizzle over the one connection of a database. Tables are defined in the `tables.ts` of the
 * capability that owns them; the migration files stay the truth on disk, and a test holds the two together.
 */
import type BetterSqlite3 from 'better-sqlite3';
import { and, type Column, count, eq, getTableColumns, gte, lt, ne, sql, type SQL } from 'drizzle-orm';
import { type BetterSQLite3Database, drizzle } from 'drizzle-orm/better-sqlite3';
import { getTableConfig, type SQLiteColumn, type SQLiteTable } from 'drizzle-orm/sqlite-core';

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

/** The property of its table that a column is. */
function nameOf(column: Column): string {
  const columns = Object.entries<Column>(getTableColumns(column.table));
  return columns.find(([, one]) => one === column)?.[0] ?? column.name;
}

/** Condition that a column has the value of the parameter with its name, in a prepared statement. */
export function given(column: Column): SQL {
  return eq(column, sql.placeholder(nameOf(column)));
}

/** The same without some columns, such as a number that the database gives. */
export function placeholdersBut<Table extends SQLiteTable, Name extends keyof Table['$inferSelect'] & string>(
  table: Table,
  ...left: Name[]
): Omit<Required<Table['$inferInsert']>, Name> {
  const names = Object.keys(getTableColumns(table)).filter((name) => !left.includes(name as Name));
  return placeholders(table, names) as never;
}

/** Adds a row, or changes all of the one with its key but what is `kept`; parameters: those of `placeholders`. */
export function upsert<Table extends SQLiteTable>(
  { orm }: { orm: Orm },
  table: Table,
  ...kept: (keyof Table['$inferSelect'] & string)[]
) {
  const columns = Object.entries<SQLiteColumn>(getTableColumns(table));
  const together = new Set(getTableConfig(table).primaryKeys.flatMap((key) => key.columns));
  const isKey = (column: SQLiteColumn): boolean => column.primary || together.has(column);
  const target = columns.map(([, column]) => column).filter(isKey);
  const changed = columns.filter(([name, column]) => !isKey(column) && !kept.includes(name));
  const set = excluded(table, ...changed.map(([name]) => name));
  const insert = orm.insert<SQLiteTable>(table).values(placeholders<SQLiteTable, never>(table));
  return insert.onConflictDoUpdate({ target, set }).prepare();
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

/** The same for a row that may be missing. */
export function presentRow<Row extends object>(row: Row | undefined): Present<Row> | undefined {
  return row && present(row);
}

/** NULL in each column that may be: what a row says of values that are not there. */
export function absent<Table extends SQLiteTable>(table: Table) {
  const columns = Object.entries<Column>(getTableColumns(table)).filter(([, { notNull }]) => !notNull);
  return Object.fromEntries(columns.map(([name]) => [name, null])) as {
    [Key in NullableKey<Table['$inferSelect']>]: null;
  };
}

/** Corrects moments of a table that a wrong clock gave; parameters: those of `StampCorrection`. */
export function restampOf({ orm }: { orm: Orm }, column: SQLiteColumn) {
  const set = { [nameOf(column)]: correctedStamp(column) };
  return orm.update(column.table).set(set).where(isWrongStamp(column)).prepare();
}

/** Whether a moment in milliseconds was given by a wrong clock; parameters: those of `StampCorrection`. */
export function isWrongStamp(column: Column): SQL {
  return sql`(${column} < ${sql.placeholder('plausibleFromMs')} OR ${column} > ${sql.placeholder('aheadFromMs')})`;
}

/** The corrected moment; the same as of `correctStamp`. */
export function correctedStamp(column: Column): SQL {
  const isBehind = sql`${column} < ${sql.placeholder('plausibleFromMs')}`;
  const shift = sql`iif(${isBehind}, ${sql.placeholder('jumpMs')}, ${sql.placeholder('backMs')})`;
  return sql`min(max(${column} + ${shift}, ${sql.placeholder('earliestMs')}), ${sql.placeholder('nowMs')})`;
}

type KeyValueTable = SQLiteTable & Record<'scope' | 'key' | 'value', SQLiteColumn>;

/** Statements of a table of keys and values; a value is text or bytes, as its column says. */
export type KeyValueStore<Value> = ReturnType<typeof createKeyValueStore<Value>>;

/** Values of scripts by scope and key; each scope has a bound of its own. */
export function createKeyValueStore<Value>(orm: Orm, table: KeyValueTable) {
  const { scope, key, value } = table;
  const ofScope = given(scope);
  const isEntry = and(ofScope, given(key));
  const read = orm.select({ value }).from(table).where(isEntry).prepare();
  const write = upsert({ orm }, table);
  const remove = orm.delete(table).where(isEntry).prepare();
  const removeScope = orm.delete(table).where(ofScope).prepare();
  const bytesBeside = orm
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${key}) + octet_length(${value})), 0)` })
    .from(table)
    .where(and(ofScope, ne(key, sql.placeholder('key'))))
    .prepare();

  return {
    read: (of: string, name: string): Value | undefined =>
      read.get({ scope: of, key: name })?.value as Value | undefined,
    write: (of: string, name: string, kept: Value): void =>
      void write.run({ scope: of, key: name, value: kept }),
    remove: (of: string, name: string): void => void remove.run({ scope: of, key: name }),
    removeScope: (of: string): void => void removeScope.run({ scope: of }),
    /** Bytes of a scope's keys and values, without those of one key. */
    bytesBeside: (of: string, name: string): number => bytesBeside.get({ scope: of, key: name })?.bytes ?? 0,
  };
}

// Conditions and prepared statements that many stores have alike.

/** A condition that restricts nothing while the parameter is NULL. */
export function unlessNull(parameter: string, condition: SQL): SQL {
  return sql`(${sql.placeholder(parameter)} IS NULL OR ${condition})`;
}

/** Condition that a moment is within a range; parameters: those of `StampRange`. */
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
