/** Tables of state.db with the targets and their progress. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import {
  type RecordCursor,
  type RequestOutcome,
  type Selection,
  TARGET_KINDS,
  type TargetSecrets,
  type TargetSettings,
  type Totals,
} from './model.ts';
import type { ChangePosition } from '../telemetry/index.ts';

export const target = sqliteTable('target', {
  id: text('id').primaryKey(),
  name: text('name').notNull(),
  kind: text('kind', { enum: TARGET_KINDS }).notNull(),
  isEnabled: integer('is_enabled', { mode: 'boolean' }).notNull(),
  settings: text('settings', { mode: 'json' }).$type<TargetSettings>().notNull(),
  /** Sealed. */
  secrets: text('secrets', { mode: 'json' }).$type<TargetSecrets | string>().notNull(),
  selection: text('selection', { mode: 'json' }).$type<Selection>().notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  updatedAtMs: integer('updated_at_ms').$type<EpochMs>().notNull(),
});

export const targetCursor = sqliteTable('target_cursor', {
  targetId: text('target_id').primaryKey(),
  position: text('position', { mode: 'json' }).$type<ChangePosition>().notNull(),
  totals: text('totals', { mode: 'json' }).$type<Totals>().notNull(),
  records: text('records', { mode: 'json' }).$type<RecordCursor>().notNull(),
});

/** Contents whose rows have no growing numbers in state.db. */
export const NOTED_CONTENTS = ['PROPERTIES', 'ALERTS', 'CONNECTIVITY', 'EXECUTIONS', 'AUDIT'] as const;
export type NotedContent = (typeof NOTED_CONTENTS)[number];

export const carriedContent = sqliteTable('carried_content', {
  content: text('content', { enum: NOTED_CONTENTS }).primaryKey(),
  isWanted: integer('is_wanted', { mode: 'boolean' }).notNull(),
  newest: integer('newest').notNull(),
});

export const carriedChange = sqliteTable(
  'carried_change',
  {
    content: text('content', { enum: NOTED_CONTENTS }).notNull(),
    number: integer('number').notNull(),
    rowId: text('row_id').notNull(),
  },
  (table) => [primaryKey({ columns: [table.content, table.number] })],
);

/** A command that a target sent. */
export const targetRequest = sqliteTable(
  'target_request',
  {
    targetId: text('target_id').notNull(),
    requestId: text('request_id').notNull(),
    expiresAtMs: integer('expires_at_ms').$type<EpochMs>().notNull(),
    outcome: text('outcome', { mode: 'json' }).$type<RequestOutcome>().notNull(),
    isTold: integer('is_told', { mode: 'boolean' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.targetId, table.requestId] })],
);
