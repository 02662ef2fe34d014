/** Tables `rule_engine`, `rule` and `rule_storage` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { Rule, RuntimeVersion } from './model.ts';

interface RuleRow {
  number: number;
  id: string;
  slug: string;
  disabled: number;
  runtime_version: string;
  exec_interval_ms: number | null;
  created_at_ms: number;
  updated_at_ms: number;
  code: string;
}

export type RuleStore = ReturnType<typeof createRuleStore>;

export function createRuleStore(database: Database) {
  const selectEngine = database.prepare<[], { id: string; suspended: number }>(
    'SELECT id, suspended FROM rule_engine',
  );
  const insertEngine = database.prepare<[string]>('INSERT INTO rule_engine (id, suspended) VALUES (?, 0)');
  const setSuspended = database.prepare<[number]>('UPDATE rule_engine SET suspended = ?');
  const selectRules = database.prepare<[], RuleRow>('SELECT * FROM rule ORDER BY number');
  const insertRule = database.prepare<Omit<RuleRow, 'number'>>(
    `INSERT INTO rule (id, slug, disabled, runtime_version, exec_interval_ms, created_at_ms, updated_at_ms, code)
     VALUES (:id, :slug, :disabled, :runtime_version, :exec_interval_ms, :created_at_ms, :updated_at_ms, :code)`,
  );
  const updateRule = database.prepare<Omit<RuleRow, 'number'>>(
    `UPDATE rule SET slug = :slug, disabled = :disabled, runtime_version = :runtime_version,
       exec_interval_ms = :exec_interval_ms, updated_at_ms = :updated_at_ms, code = :code WHERE id = :id`,
  );
  const deleteRule = database.prepare<[string]>('DELETE FROM rule WHERE id = ?');

  return {
    engine: (): { id: string; isSuspended: boolean } | undefined => {
      const row = selectEngine.get();
      return row && { id: row.id, isSuspended: row.suspended === 1 };
    },
    insertEngine: (id: string): void => void insertEngine.run(id),
    setSuspended: (isSuspended: boolean): void => void setSuspended.run(isSuspended ? 1 : 0),
    /** In the order of creation. */
    rules: (): Rule[] => selectRules.all().map(fromRow),
    insert: (rule: Rule): void => void insertRule.run(toRow(rule, rule.createdAtMs)),
    update: (rule: Rule, nowMs: number): void => void updateRule.run(toRow(rule, nowMs)),
    remove: (id: string): void => void deleteRule.run(id),
    ...storageStatements(database),
  };
}

/** What scripts keep: JSON values by scope and key. */
function storageStatements(database: Database) {
  const read = database
    .prepare<[string, string], string>('SELECT value FROM rule_storage WHERE scope = ? AND key = ?')
    .pluck();
  const write = database.prepare<[string, string, string]>(
    `INSERT INTO rule_storage (scope, key, value) VALUES (?, ?, ?)
     ON CONFLICT (scope, key) DO UPDATE SET value = excluded.value`,
  );
  const remove = database.prepare<[string, string]>('DELETE FROM rule_storage WHERE scope = ? AND key = ?');
  const removeScope = database.prepare<[string]>('DELETE FROM rule_storage WHERE scope = ?');
  const bytesBeside = database
    .prepare<[string, string], number>(
      `SELECT coalesce(sum(length(CAST(key AS BLOB)) + length(CAST(value AS BLOB))), 0)
       FROM rule_storage WHERE scope = ? AND key <> ?`,
    )
    .pluck();

  return {
    readValue: (scope: string, key: string): string | undefined => read.get(scope, key),
    writeValue: (scope: string, key: string, value: string): void => void write.run(scope, key, value),
    removeValue: (scope: string, key: string): void => void remove.run(scope, key),
    removeScope: (scope: string): void => void removeScope.run(scope),
    /** Bytes of a scope's keys and values, without those of one key. */
    bytesBeside: (scope: string, key: string): number => bytesBeside.get(scope, key) ?? 0,
  };
}

function fromRow(row: RuleRow): Rule {
  return {
    id: row.id,
    slug: row.slug,
    disabled: row.disabled === 1,
    script: {
      code: row.code,
      runtimeVersion: row.runtime_version as RuntimeVersion,
      execIntervalMs: row.exec_interval_ms ?? undefined,
    },
    createdAtMs: row.created_at_ms,
  };
}

function toRow(rule: Rule, updatedAtMs: number): Omit<RuleRow, 'number'> {
  return {
    id: rule.id,
    slug: rule.slug,
    disabled: rule.disabled ? 1 : 0,
    runtime_version: rule.script.runtimeVersion,
    exec_interval_ms: rule.script.execIntervalMs ?? null,
    created_at_ms: rule.createdAtMs,
    updated_at_ms: updatedAtMs,
    code: rule.script.code,
  };
}
