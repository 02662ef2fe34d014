/** Rows of state.db that a start could not read, as they were, until a person has seen them or there are too many. */
import { sql } from 'drizzle-orm';
import type { EpochMs } from '../../lib/time.ts';
import type { Database } from './database.ts';

/** How many of a table. */
export interface Quarantined {
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

/** Rows that were found at or after a moment. */
export function quarantinedSince(database: Database, fromMs: EpochMs): Quarantined[] {
  return database.orm.all<Quarantined>(
    sql`SELECT table_name AS "table", count(*) AS count FROM quarantine WHERE found_at_ms >= ${fromMs} GROUP BY table_name`,
  );
}

/** All of them, in the order in which they were found. */
export function quarantinedRows(database: Database): QuarantinedRow[] {
  const rows = database.orm.all<Omit<QuarantinedRow, 'isRepaired'> & { repaired: number }>(
    sql`SELECT number, found_at_ms AS "foundAtMs", table_name AS "table", reason, repaired, row FROM quarantine ORDER BY number`,
  );
  return rows.map(({ repaired, ...row }) => ({ ...row, isRepaired: repaired === 1 }));
}

/** Ends the quarantine of one, or of all; returns how many there were. */
export function removeQuarantined(database: Database, number?: number): number {
  const { changes } = database.orm.run(
    number === undefined ? sql`DELETE FROM quarantine` : sql`DELETE FROM quarantine WHERE number = ${number}`,
  );
  return changes;
}

/** Keeps the newest ones, at least one; returns how many were removed. */
export function boundQuarantine(database: Database, limits: { rowsKept: number; bytesKept: number }): number {
  const { changes } = database.orm.run(sql`DELETE FROM quarantine WHERE number IN (
    SELECT number FROM (
      SELECT number, row_number() OVER newest AS place, sum(length(row)) OVER newest AS bytes
      FROM quarantine WINDOW newest AS (ORDER BY number DESC))
    WHERE place > 1 AND (place > ${limits.rowsKept} OR bytes > ${limits.bytesKept}))`);
  return changes;
}
