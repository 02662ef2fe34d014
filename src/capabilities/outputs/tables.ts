/** Tables of state.db with the outputs that rules set, and what became of them. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import type { Principal } from '../../platform/http/index.ts';
import type { OutputCommand } from './model.ts';

export const output = sqliteTable('output', {
  id: text('id').primaryKey(),
  deviceId: text('device_id').notNull(),
  part: text('part').notNull(),
  commands: text('commands', { mode: 'json' }).$type<string[]>().notNull(),
  /** JSON of a Safe; NULL when no rule holds the output. */
  safe: text('safe'),
  ruleIds: text('rule_ids', { mode: 'json' }).$type<string[]>().notNull(),
});

export const CHANGE_SOURCES = ['REQUEST', 'SAFE', 'OTHER'] as const;

export const outputChange = sqliteTable('output_change', {
  /** Grows with every change. */
  number: integer('number').primaryKey(),
  outputId: text('output_id').notNull(),
  atMs: integer('at_ms').$type<EpochMs>().notNull(),
  source: text('source', { enum: CHANGE_SOURCES }).notNull(),
  command: text('command', { mode: 'json' }).$type<OutputCommand>().notNull(),
  origin: text('origin', { mode: 'json' }).$type<Principal['origin']>().notNull(),
  limitedBy: text('limited_by', { mode: 'json' }).$type<string[]>().notNull(),
  error: text('error'),
});
