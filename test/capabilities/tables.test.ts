/** The tables that `tables.ts` files define are those that the migrations make. */
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, test } from 'node:test';
import { is } from 'drizzle-orm';
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core';
import BetterSqlite3 from 'better-sqlite3';
import { readMigrations } from '../../src/platform/sqlite/index.ts';
import { MIGRATIONS_DIR, PROJECT_ROOT } from '../support/workspace.ts';

interface Column {
  name: string;
  type: string;
  isRequired: boolean;
  isKey: boolean;
}

interface DefinedTable {
  file: string;
  name: string;
  columns: Column[];
}

const byName = (a: Column, b: Column): number => a.name.localeCompare(b.name);

async function definedTables(): Promise<DefinedTable[]> {
  const files = globSync('src/capabilities/*/tables.ts', { cwd: PROJECT_ROOT }).sort();
  const found = await Promise.all(
    files.map(async (file) => {
      const module = (await import(pathToFileURL(join(PROJECT_ROOT, file)).href)) as Record<string, unknown>;
      return Object.values(module)
        .filter((value) => is(value, SQLiteTable))
        .map((table) => definitionOf(file, table));
    }),
  );
  return found.flat();
}

function definitionOf(file: string, table: SQLiteTable): DefinedTable {
  const { name, columns, primaryKeys } = getTableConfig(table);
  const composite = new Set(primaryKeys.flatMap((key) => key.columns.map((column) => column.name)));
  return {
    file,
    name,
    columns: columns
      .map((column) => {
        const isKey = column.primary || composite.has(column.name);
        return {
          name: column.name,
          type: column.getSQLType().toUpperCase(),
          isRequired: column.notNull || isKey,
          isKey,
        };
      })
      .sort(byName),
  };
}

/** Table → columns, of both databases with all migrations applied. */
function migratedTables(): Map<string, Column[]> {
  const tables = new Map<string, Column[]>();
  for (const kind of ['state', 'history']) {
    const database = new BetterSqlite3(':memory:');
    for (const { sql } of readMigrations(join(MIGRATIONS_DIR, kind))) database.exec(sql);
    const names = database
      .prepare<[], string>(`SELECT name FROM sqlite_master WHERE type = 'table'`)
      .pluck()
      .all();
    for (const name of names) {
      const columns = database
        .prepare<[string], { name: string; type: string; notnull: number; pk: number }>(
          'SELECT name, type, "notnull", pk FROM pragma_table_info(?)',
        )
        .all(name)
        .map((column) => ({
          name: column.name,
          type: column.type,
          isRequired: column.notnull === 1 || column.pk > 0,
          isKey: column.pk > 0,
        }));
      tables.set(name, columns.sort(byName));
    }
    database.close();
  }
  return tables;
}

describe('the tables that the code defines', async () => {
  const defined = await definedTables();
  const migrated = migratedTables();

  test('all tables that the migrations make are defined in the code, except the blocks of telemetry', () => {
    const names = [...migrated.keys()].filter((name) => !/^(telemetry_|sqlite_)/.test(name));
    assert.deepEqual(names.sort(), [...new Set(defined.map(({ name }) => name))].sort());
  });

  for (const { file, name, columns } of defined)
    test(`the table ${name} of ${file} has the columns, types, keys and NULLs of the migrations`, () => {
      assert.deepEqual(columns, migrated.get(name));
    });
});
