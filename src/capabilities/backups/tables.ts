/** Tables of state.db with the plan of backups and what came of it. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowRules } from '../../platform/sqlite/index.ts';
import { SCHEDULES } from './model.ts';

export const backupPlan = sqliteTable('backup_plan', {
  id: integer('id').primaryKey(),
  schedule: text('schedule', { enum: SCHEDULES }).notNull(),
  atMinute: integer('at_minute').notNull(),
  target: text('target'),
  targetUsername: text('target_username'),
  targetPassword: text('target_password'),
  isMount: integer('is_mount', { mode: 'boolean' }).notNull(),
  password: text('password'),
  includeHistory: integer('include_history', { mode: 'boolean' }).notNull(),
  keep: integer('keep').notNull(),
  alertAfterDays: integer('alert_after_days').notNull(),
  changedAtMs: integer('changed_at_ms').notNull(),
});

export const backupOutcome = sqliteTable('backup_outcome', {
  id: integer('id').primaryKey(),
  goodAtMs: integer('good_at_ms'),
  goodName: text('good_name'),
  goodBytes: integer('good_bytes'),
  triedAtMs: integer('tried_at_ms').notNull(),
  fault: text('fault'),
});

export const backupRows = [rowRules({ table: backupPlan }), rowRules({ table: backupOutcome })];
