/** Table of state.db with the audit trail. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { type AuditEntry, ORIGIN_KINDS } from './model.ts';

export const audit = sqliteTable('audit', {
  /** Grows with every entry, whatever the wall clock says. */
  number: integer('number').primaryKey(),
  atMs: integer('at_ms').$type<EpochMs>().notNull(),
  originKind: text('origin_kind', { enum: ORIGIN_KINDS }).notNull(),
  originId: text('origin_id').notNull(),
  originName: text('origin_name').notNull(),
  operation: text('operation').notNull(),
  target: text('target', { mode: 'json' }).$type<AuditEntry['target']>().notNull(),
  /** HTTP status of the answer; 0 for a local command. */
  status: integer('status').notNull(),
  remoteAddress: text('remote_address'),
});
