/**
 * Conditions, as SQL, that a row must meet so that the code can read it: types, NULL, enums and JSON of `tables.ts`,
 * references of the migrations, and checks of the capability.
 */
import { type Column, getTableColumns, type SQL, sql } from 'drizzle-orm';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Orm } from './orm.ts';

type Name<Table extends SQLiteTable> = keyof Table['$inferSelect'] & string;
/** New values of columns, by their properties. */
type Repair<Table extends SQLiteTable> = Partial<Record<Name<Table>, SQL>>;

/** When a row of a table is readable, and how to repair one that is not. */
export interface RowRules<Table extends SQLiteTable = SQLiteTable> {
  table: Table;
  /** Type of JSON in a column. Default: an object in a column of mode `json`, none in others. */
  json?: Partial<Record<Name<Table>, 'object' | 'array' | 'any'>>;
  /** True for a value that the code accepts; evaluated only when type and JSON are right. */
  checks?: Partial<Record<Name<Table>, SQL>>;
  /** What to write where a column cannot be read. Default: the row is moved away. */
  repairs?: Partial<Record<Name<Table>, Repair<Table>>>;
}

/** Checks the names of columns by type. */
export function rowRules<Table extends SQLiteTable>(rules: RowRules<Table>): RowRules {
  return rules;
}

/** The range of a timestamp: the years 1 to 9999. */
const EARLIEST_MS = -62_135_596_800_000;
const LATEST_MS = 253_402_300_799_999;

interface Reference {
  from: string;
  parent: string;
  to: string;
}

/** What the database itself says of a table. */
export interface TableSchema {
  hasRowid: boolean;
  references: readonly Reference[];
}

export interface JudgedColumn {
  /** Property in the table's definition. */
  property: string;
  name: string;
  /** SQL of the reason why its value cannot be read; NULL when it can. */
  fault: SQL;
}

/** Of all tables at once: a start waits for it. */
export function tableSchemas(orm: Orm): ReadonlyMap<string, TableSchema> {
  const tables = orm.all<{ name: string; wr: number }>(
    sql`SELECT name, wr FROM pragma_table_list WHERE schema = 'main'`,
  );
  const references = orm.all<Reference & { name: string }>(
    sql`SELECT list.name, "from", "table" AS parent, "to"
      FROM pragma_table_list AS list, pragma_foreign_key_list(list.name) WHERE list.schema = 'main'`,
  );
  const byTable = Map.groupBy(references, ({ name }) => name);
  return new Map(
    tables.map(({ name, wr }) => [name, { hasRowid: wr === 0, references: byTable.get(name) ?? [] }]),
  );
}

/** One for each column. */
export function judgedColumns(rules: RowRules, { references }: TableSchema): JudgedColumn[] {
  const keys = new Set(keysOf(rules.table));
  return Object.entries(getTableColumns(rules.table)).map(([property, column]) => ({
    property,
    name: column.name,
    fault: faultOf(rules, property, column, keys.has(column.name), references),
  }));
}

/** Names of the columns of the primary key. */
export function keysOf(table: SQLiteTable): string[] {
  const { columns, primaryKeys } = getTableConfig(table);
  const composite = primaryKeys.flatMap((key) => key.columns.map(({ name }) => name));
  return composite.length > 0 ? composite : columns.filter(({ primary }) => primary).map(({ name }) => name);
}

function faultOf(
  { json = {}, checks = {} }: RowRules,
  property: string,
  column: Column,
  isKey: boolean,
  references: readonly Reference[],
): SQL {
  const type = column.getSQLType();
  const types = type === 'real' ? [type, 'integer'] : [type];
  const cases = [
    column.notNull || isKey
      ? sql`WHEN ${column} IS NULL THEN 'is missing'`
      : sql`WHEN ${column} IS NULL THEN NULL`,
    sql`WHEN typeof(${column}) NOT IN ${types} THEN 'is of another type'`,
  ];
  if (column.dataType === 'boolean') cases.push(sql`WHEN ${column} NOT IN (0, 1) THEN 'is neither 0 nor 1'`);
  if (column.name.endsWith('_at_ms'))
    cases.push(sql`WHEN ${column} NOT BETWEEN ${EARLIEST_MS} AND ${LATEST_MS} THEN 'is no moment'`);
  if (column.enumValues?.length)
    cases.push(sql`WHEN ${column} NOT IN ${column.enumValues} THEN 'is no known value'`);
  const holds = json[property] ?? (column.dataType === 'json' ? 'object' : undefined);
  if (holds !== undefined && holds !== 'any')
    cases.push(sql`WHEN ${jsonTypeOf(column)} IS NOT ${holds} THEN ${`is no JSON ${holds}`}`);
  if (holds === 'any') cases.push(sql`WHEN ${jsonTypeOf(column)} IS NULL THEN 'is no JSON'`);
  const check = checks[property];
  if (check) cases.push(sql`WHEN (${check}) IS NOT TRUE THEN 'is no usable value'`);
  for (const { from, parent, to } of references) {
    if (from !== column.name) continue;
    // The alias is for a table that refers to itself.
    const target = sql`SELECT 1 FROM ${sql.identifier(parent)} AS parent WHERE parent.${sql.identifier(to)} = ${column}`;
    cases.push(sql`WHEN NOT EXISTS (${target}) THEN ${`refers to nothing in ${parent}`}`);
  }
  return sql`CASE ${sql.join(cases, sql` `)} END`;
}

/** SQLite stops at the first zero byte and at a thousand levels; `JSON.parse` does not. */
function jsonTypeOf(column: Column): SQL {
  const isPlain = sql`json_valid(${column}) AND instr(${column}, char(0)) = 0`;
  return sql`CASE WHEN ${isPlain} THEN json_type(${column}) ELSE parsed_json_type(${column}) END`;
}
