/** Table of state.db with the alerts of devices. */
import { sql } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowRules } from '../../platform/sqlite/index.ts';
import { ALERT_SEVERITIES, ALERT_SOURCES } from './model.ts';

export const alert = sqliteTable('alert', {
  number: integer('number').primaryKey(),
  id: text('id').notNull(),
  deviceId: text('device_id').notNull(),
  source: text('source', { enum: ALERT_SOURCES }).notNull(),
  name: text('name').notNull(),
  severity: text('severity', { enum: ALERT_SEVERITIES }).notNull(),
  displayName: text('display_name').notNull(),
  details: text('details'),
  isLasting: integer('is_lasting', { mode: 'boolean' }).notNull(),
  timesRaised: integer('times_raised').notNull(),
  raisedAtMs: integer('raised_at_ms').notNull(),
  clearedAtMs: integer('cleared_at_ms'),
  acknowledgedAtMs: integer('acknowledged_at_ms'),
  acknowledgedBy: text('acknowledged_by'),
});

export const alertRows = [
  rowRules({
    table: alert,
    // Rather told once more than never.
    repairs: { severity: { severity: sql`'error'` }, isLasting: { isLasting: sql`0` } },
  }),
];
