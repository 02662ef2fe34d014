import { and, ne, sql } from 'drizzle-orm';
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core';
import { given, type Orm, upsert } from './orm.ts';

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
