/**
 * One row that cannot be read must not prevent a start: first every row of every table is checked. An unreadable value is
 * repaired where its capability says how; else the row moves to the table `quarantine` for a person. Rows that referred
 * to it are checked after it.
 */
import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm';
import { type SQLiteTable } from 'drizzle-orm/sqlite-core';
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Database } from './database.ts';
import type { Orm } from './orm.ts';
import {
  type JudgedColumn,
  judgedColumns,
  keysOf,
  type RowRules,
  type TableSchema,
  tableSchemas,
} from './row-rules.ts';

interface QuarantineOptions {
  database: Database;
  /** Of all tables; a table stands before those that refer to it. */
  rules: readonly RowRules[];
  clock: Clock;
  log: Log;
  limits: Limits['state']['quarantine'];
}

interface Judged {
  rules: RowRules;
  name: string;
  /** Columns that identify a row: `rowid`, or the key of a table without. */
  place: readonly string[];
  columns: readonly JudgedColumn[];
}

/** An unreadable row: its place and key, and the fault of each column by the column's number. */
type Found = Record<string, unknown>;

/** Returns the tables with rows that were repaired or moved away. */
export function quarantineRows(options: QuarantineOptions): Quarantined[] {
  const { orm } = options.database;
  const client = orm.$client;
  client.function('parsed_json_type', { deterministic: true }, parsedJsonType);
  const schemas = tableSchemas(orm);
  // What is asked of each column takes longer to say than to answer; of an empty table nothing is asked.
  const filled = options.rules.filter(({ table }) => hasRows(orm, table));
  const tables = filled.map((rules) => judgedTable(rules, schemas));
  const counts = new Map<string, number>();
  // To move a row away must not delete rows that refer to it; they are checked by themselves.
  client.pragma('foreign_keys = OFF');
  try {
    for (let round = 1; round <= options.limits.rounds; round++) {
      const found = tables.map((table) => ({ table, rows: unreadableRows(options.database, table) }));
      if (found.every(({ rows }) => rows.length === 0)) break;
      options.database.transaction(() => {
        for (const { table, rows } of found)
          // In the second half of the rounds nothing is repaired, in case repairs do not help.
          for (const row of rows) settleRow(options, table, row, round <= options.limits.rounds / 2, counts);
      });
    }
  } finally {
    client.pragma('foreign_keys = ON');
  }
  const unnamed = total(counts) - options.limits.rowsLogged;
  if (unnamed > 0) options.log.error('more rows of state.db could not be read', { count: unnamed });
  const removed = boundQuarantine(options.database, options.limits);
  if (removed > 0) options.log.warn('the oldest rows in quarantine were removed', { count: removed });
  return [...counts].map(([table, count]) => ({ table, count }));
}

function judgedTable(rules: RowRules, schemas: ReadonlyMap<string, TableSchema>): Judged {
  const name = getTableName(rules.table);
  const schema = schemas.get(name);
  if (!schema) throw new Error(`state.db has no table ${name}`);
  return {
    rules,
    name,
    place: schema.hasRowid ? ['rowid'] : keysOf(rules.table),
    columns: judgedColumns(rules, schema),
  };
}

function hasRows(orm: Orm, table: SQLiteTable): boolean {
  return orm.get<{ isAny: number }>(sql`SELECT EXISTS (SELECT 1 FROM ${table}) AS "isAny"`).isAny === 1;
}

function unreadableRows({ orm }: Database, { rules, place, columns }: Judged): Found[] {
  const isUnreadable = sql.join(
    columns.map(({ fault }) => sql`${fault} IS NOT NULL`),
    sql` OR `,
  );
  // Mostly there is none, and this query is the shorter one.
  const { isAny } = orm.get<{ isAny: number }>(
    sql`SELECT EXISTS (SELECT 1 FROM ${rules.table} WHERE ${isUnreadable}) AS "isAny"`,
  );
  if (isAny === 0) return [];
  const faults = columns.map(({ fault }, index) => sql`${fault} AS ${sql.identifier(`fault_${index}`)}`);
  const places = place.map((name) => sql`${rules.table}.${sql.identifier(name)} AS ${sql.identifier(name)}`);
  const keys = keysOf(rules.table).map(
    (name) => sql`quote(${sql.identifier(name)}) AS ${sql.identifier(`key_${name}`)}`,
  );
  return orm.all<Found>(
    sql`SELECT ${sql.join([...places, ...keys, ...faults], sql`, `)} FROM ${rules.table} WHERE ${isUnreadable}`,
  );
}

function settleRow(
  options: QuarantineOptions,
  table: Judged,
  row: Found,
  mayRepair: boolean,
  counts: Map<string, number>,
): void {
  const { rules, name, columns } = table;
  const faulty = columns.filter((_, index) => row[`fault_${index}`] !== null);
  const reason = faulty
    .map((column) => `${column.name} ${String(row[`fault_${columns.indexOf(column)}`])}`)
    .join('; ');
  const repairs = faulty.map(({ property }) => rules.repairs?.[property]);
  const isRepaired = mayRepair && repairs.every((repair) => repair !== undefined);
  const isIt = sql.join(
    table.place.map((key) => sql`${sql.identifier(key)} IS ${row[key]}`),
    sql` AND `,
  );
  const { orm } = options.database;
  const number = total(counts);
  orm.run(sql`INSERT INTO quarantine (found_at_ms, table_name, row, reason, repaired)
    SELECT ${Math.round(options.clock.wallMs())}, ${name}, ${rowAsJson(rules.table)}, ${reason}, ${Number(isRepaired)}
    FROM ${rules.table} WHERE ${isIt}`);
  if (isRepaired) orm.run(sql`UPDATE ${rules.table} SET ${assignments(rules.table, repairs)} WHERE ${isIt}`);
  else orm.run(sql`DELETE FROM ${rules.table} WHERE ${isIt}`);
  counts.set(name, (counts.get(name) ?? 0) + 1);
  if (number < options.limits.rowsLogged)
    options.log.error(
      isRepaired
        ? 'a row of state.db could not be read and was repaired'
        : 'a row of state.db could not be read and was put into quarantine',
      { table: name, key: keyText(table, row), reason },
    );
}

const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

function assignments(
  table: SQLiteTable,
  repairs: readonly (Partial<Record<string, SQL>> | undefined)[],
): SQL {
  const columns = getTableColumns(table);
  const values = Object.assign({}, ...repairs) as Record<string, SQL>;
  return sql.join(
    Object.entries(values).map(
      ([property, value]) => sql`${sql.identifier(columns[property]?.name ?? property)} = ${value}`,
    ),
    sql`, `,
  );
}

function rowAsJson(table: SQLiteTable): SQL {
  const members = Object.values(getTableColumns(table)).map(
    (column) =>
      sql`${column.name}, CASE typeof(${column}) WHEN 'blob' THEN json_object('hex', hex(${column})) ELSE ${column} END`,
  );
  return sql`json_object(${sql.join(members, sql`, `)})`;
}

function keyText({ rules }: Judged, row: Found): string {
  return keysOf(rules.table)
    .map((name) => `${name} ${String(row[`key_${name}`])}`)
    .join(', ');
}

function parsedJsonType(text: unknown): string | null {
  try {
    const value = JSON.parse(String(text)) as unknown;
    if (value === null) return 'null';
    return Array.isArray(value) ? 'array' : typeof value;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

/** The number of rows of a table. */
interface Quarantined {
  table: string;
  count: number;
}

interface QuarantinedRow {
  number: number;
  foundAtMs: EpochMs;
  table: string;
  /** Column, and what was wrong with it. */
  reason: string;
  /** The row is still in its table, with other values in the columns that could not be read. */
  isRepaired: boolean;
  /** The row as JSON. */
  row: string;
}

/** Numbers of rows found at or after a moment. */
export function quarantinedSince(database: Database, fromMs: EpochMs): Quarantined[] {
  return database.orm.all<Quarantined>(
    sql`SELECT table_name AS "table", count(*) AS count FROM quarantine WHERE found_at_ms >= ${fromMs} GROUP BY table_name`,
  );
}

/** All rows in the order in which they were found. */
export function quarantinedRows(database: Database): QuarantinedRow[] {
  const rows = database.orm.all<Omit<QuarantinedRow, 'isRepaired'> & { repaired: number }>(
    sql`SELECT number, found_at_ms AS "foundAtMs", table_name AS "table", reason, repaired, row FROM quarantine ORDER BY number`,
  );
  return rows.map(({ repaired, ...row }) => ({ ...row, isRepaired: repaired === 1 }));
}

/** Removes one row, or all; returns how many. */
export function removeQuarantined(database: Database, number?: number): number {
  const { changes } = database.orm.run(
    number === undefined ? sql`DELETE FROM quarantine` : sql`DELETE FROM quarantine WHERE number = ${number}`,
  );
  return changes;
}

/** Keeps the newest rows, at least one; returns how many were removed. */
function boundQuarantine(database: Database, limits: QuarantineOptions['limits']): number {
  const { changes } = database.orm.run(sql`DELETE FROM quarantine WHERE number IN (
    SELECT number FROM (
      SELECT number, row_number() OVER newest AS place, sum(length(row)) OVER newest AS bytes
      FROM quarantine WINDOW newest AS (ORDER BY number DESC))
    WHERE place > 1 AND (place > ${limits.rowsKept} OR bytes > ${limits.bytesKept}))`);
  return changes;
}
