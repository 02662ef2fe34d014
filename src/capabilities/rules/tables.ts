/** Tables of the rule engine: in state.db the engine, its rules and their storage, in history.db their logs. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import { severityColumn } from '../device-logs/index.ts';
import { RUNTIME_VERSIONS } from './model.ts';

export const ruleEngine = sqliteTable('rule_engine', {
  id: text('id').primaryKey(),
  isSuspended: integer('suspended', { mode: 'boolean' }).notNull(),
});

export const rule = sqliteTable('rule', {
  /** Grows with every rule: the order of starting, independent of the wall clock. */
  number: integer('number').primaryKey(),
  id: text('id').notNull(),
  slug: text('slug').notNull(),
  disabled: integer('disabled', { mode: 'boolean' }).notNull(),
  runtimeVersion: text('runtime_version', { enum: RUNTIME_VERSIONS }).notNull(),
  /** Only for V1. */
  execIntervalMs: integer('exec_interval_ms').$type<DurationMs>(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  updatedAtMs: integer('updated_at_ms').$type<EpochMs>().notNull(),
  code: text('code').notNull(),
  /** JSON of a RuleStrategy. */
  strategy: text('strategy'),
  /** 0 or 1; null: as is usual for its kind. Without `mode`, which makes 0 of null. */
  traced: integer('traced'),
});

/** Scripts that rules had and have, the newest one included. */
export const ruleVersion = sqliteTable('rule_version', {
  /** Grows with every version. */
  number: integer('number').primaryKey(),
  id: text('id').notNull(),
  ruleId: text('rule_id').notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  /** Name of who saved it. */
  savedBy: text('saved_by'),
  runtimeVersion: text('runtime_version', { enum: RUNTIME_VERSIONS }).notNull(),
  execIntervalMs: integer('exec_interval_ms').$type<DurationMs>(),
  code: text('code').notNull(),
  strategy: text('strategy'),
});

export const ruleStorage = sqliteTable(
  'rule_storage',
  {
    /** Id of a rule, or `shared` or `public` for what all rules share. */
    scope: text('scope').notNull(),
    key: text('key').notNull(),
    /** JSON, as the script gave it. */
    value: text('value').notNull(),
  },
  (table) => [primaryKey({ columns: [table.scope, table.key] })],
);

export const ruleLog = sqliteTable('rule_log', {
  number: integer('number').primaryKey(),
  ruleId: text('rule_id').notNull(),
  receivedAtMs: integer('received_at_ms').$type<EpochMs>().notNull(),
  severity: severityColumn('severity').notNull(),
  message: text('message').notNull(),
});

/** Bytes of the entries of each rule, kept by triggers. */
export const ruleLogSize = sqliteTable('rule_log_size', {
  ruleId: text('rule_id').primaryKey(),
  sizeBytes: integer('size_bytes').notNull(),
});
