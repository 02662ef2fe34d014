/** Tables of state.db with the backup plan and its outcome. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';

export const SCHEDULES = ['OFF', 'DAILY', 'WEEKLY'] as const;

/** One row, once somebody has changed the plan. */
export const backupPlan = sqliteTable('backup_plan', {
  id: integer('id').primaryKey(),
  schedule: text('schedule', { enum: SCHEDULES }).notNull(),
  /** Minutes since midnight, of the site's clock. */
  atMinute: integer('at_minute').notNull(),
  /** In a form that `targetProblem` accepts. */
  target: text('target'),
  /** Login of WebDAV. */
  targetUsername: text('target_username'),
  /** Sealed. */
  targetPassword: text('target_password'),
  /** The folder of the target was on another file system than the data when it was named. */
  isMount: integer('is_mount', { mode: 'boolean' }).notNull(),
  /** Seals the backups; sealed itself. */
  password: text('password'),
  includeHistory: integer('include_history', { mode: 'boolean' }).notNull(),
  /** Backups left at the target. */
  keep: integer('keep').notNull(),
  alertAfterDays: integer('alert_after_days').notNull(),
  changedAtMs: integer('changed_at_ms').$type<EpochMs>().notNull(),
});

export const backupOutcome = sqliteTable('backup_outcome', {
  id: integer('id').primaryKey(),
  /** The last backup that was opened and verified at its target. */
  goodAtMs: integer('good_at_ms').$type<EpochMs>(),
  goodName: text('good_name'),
  goodBytes: integer('good_bytes'),
  triedAtMs: integer('tried_at_ms').$type<EpochMs>().notNull(),
  /** Why the last try failed; NULL: it succeeded. */
  fault: text('fault'),
});
