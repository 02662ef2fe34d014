/** Rows of the rule engine, of rules, and of what scripts keep. */
import { and, eq, ne, sql } from 'drizzle-orm';
import { type Database, excluded, placeholders } from '../../platform/sqlite/index.ts';
import type { Rule } from './model.ts';
import { rule, ruleEngine, ruleStorage } from './tables.ts';

export type RuleStore = ReturnType<typeof createRuleStore>;

export function createRuleStore({ orm }: Database) {
  const selectEngine = orm.select().from(ruleEngine).prepare();
  const selectRules = orm.select().from(rule).orderBy(rule.number).prepare();
  const insertRule = orm
    .insert(rule)
    .values(
      placeholders(rule, [
        'id',
        'slug',
        'disabled',
        'runtimeVersion',
        'execIntervalMs',
        'createdAtMs',
        'updatedAtMs',
        'code',
      ]),
    )
    .prepare();
  const isRule = eq(rule.id, sql.placeholder('id'));
  const updateRule = orm
    .update(rule)
    .set(placeholders(rule, ['slug', 'disabled', 'runtimeVersion', 'execIntervalMs', 'updatedAtMs', 'code']))
    .where(isRule)
    .prepare();
  const deleteRule = orm.delete(rule).where(isRule).prepare();

  return {
    engine: () => selectEngine.get(),
    insertEngine: (id: string): void => void orm.insert(ruleEngine).values({ id, isSuspended: false }).run(),
    setSuspended: (isSuspended: boolean): void => void orm.update(ruleEngine).set({ isSuspended }).run(),
    /** In the order of creation. */
    rules: (): Rule[] => selectRules.all().map(ruleOf),
    insert: (given: Rule): void => void insertRule.run(rowOf(given, given.createdAtMs)),
    update: (given: Rule, nowMs: number): void => void updateRule.run(rowOf(given, nowMs)),
    remove: (id: string): void => void deleteRule.run({ id }),
    ...storageStatements(orm),
  };
}

/** What scripts keep: JSON values by scope and key. */
function storageStatements(orm: Database['orm']) {
  const { scope, key, value } = ruleStorage;
  const ofScope = eq(scope, sql.placeholder('scope'));
  const isEntry = and(ofScope, eq(key, sql.placeholder('key')));
  const read = orm.select({ value }).from(ruleStorage).where(isEntry).prepare();
  const write = orm
    .insert(ruleStorage)
    .values(placeholders(ruleStorage))
    .onConflictDoUpdate({ target: [scope, key], set: excluded(ruleStorage, 'value') })
    .prepare();
  const remove = orm.delete(ruleStorage).where(isEntry).prepare();
  const removeScope = orm.delete(ruleStorage).where(ofScope).prepare();
  const bytesBeside = orm
    .select({ bytes: sql<number>`coalesce(sum(octet_length(${key}) + octet_length(${value})), 0)` })
    .from(ruleStorage)
    .where(and(ofScope, ne(key, sql.placeholder('key'))))
    .prepare();

  return {
    readValue: (ofRule: string, name: string): string | undefined =>
      read.get({ scope: ofRule, key: name })?.value,
    writeValue: (ofRule: string, name: string, text: string): void =>
      void write.run({ scope: ofRule, key: name, value: text }),
    removeValue: (ofRule: string, name: string): void => void remove.run({ scope: ofRule, key: name }),
    removeScope: (ofRule: string): void => void removeScope.run({ scope: ofRule }),
    /** Bytes of a scope's keys and values, without those of one key. */
    bytesBeside: (ofRule: string, name: string): number =>
      bytesBeside.get({ scope: ofRule, key: name })?.bytes ?? 0,
  };
}

function ruleOf({ id, slug, disabled, createdAtMs, ...script }: typeof rule.$inferSelect): Rule {
  const { code, runtimeVersion, execIntervalMs } = script;
  return {
    id,
    slug,
    disabled,
    script: { code, runtimeVersion, execIntervalMs: execIntervalMs ?? undefined },
    createdAtMs,
  };
}

function rowOf({ script, ...rest }: Rule, updatedAtMs: number): Omit<typeof rule.$inferSelect, 'number'> {
  return { ...rest, ...script, execIntervalMs: script.execIntervalMs ?? null, updatedAtMs };
}
