/** Rows of the rule engine, of rules, and of the storage of scripts. */
import type { EpochMs } from '../../lib/time.ts';
import { createKeyValueStore, type Database, given, placeholdersBut } from '../../platform/sqlite/index.ts';
import type { Rule } from './model.ts';
import { rule, ruleEngine, ruleStorage } from './tables.ts';

export type RuleStore = ReturnType<typeof createRuleStore>;

export function createRuleStore({ orm }: Database) {
  const selectEngine = orm.select().from(ruleEngine).prepare();
  const selectRules = orm.select().from(rule).orderBy(rule.number).prepare();
  const insertRule = orm.insert(rule).values(placeholdersBut(rule, 'number')).prepare();
  const isRule = given(rule.id);
  const updateRule = orm
    .update(rule)
    .set(placeholdersBut(rule, 'number', 'id', 'createdAtMs'))
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
    update: (given: Rule, nowMs: EpochMs): void => void updateRule.run(rowOf(given, nowMs)),
    remove: (id: string): void => void deleteRule.run({ id }),
    /** Storage of scripts: JSON by scope and key. */
    values: createKeyValueStore<string>(orm, ruleStorage),
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

function rowOf({ script, ...rest }: Rule, updatedAtMs: EpochMs): Omit<typeof rule.$inferSelect, 'number'> {
  return { ...rest, ...script, execIntervalMs: script.execIntervalMs ?? null, updatedAtMs };
}
