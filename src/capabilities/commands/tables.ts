/** Tables of state.db with command executions and the responses of devices. */
import { integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { ROLES } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';
import { RESPONSE_STATES } from '../../protocol/command.ts';
import { type Execution, OWN_STATES } from './model.ts';

type JsonObject = Record<string, unknown>;

export const execution = sqliteTable('execution', {
  /** Grows with every command, whatever the wall clock says. */
  number: integer('number').primaryKey(),
  id: text('id').notNull(),
  deviceId: text('device_id').notNull(),
  state: text('state', { enum: OWN_STATES }).notNull(),
  ephemeral: integer('ephemeral', { mode: 'boolean' }).notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  requestedName: text('requested_name').notNull(),
  manifestName: text('manifest_name').notNull(),
  /** Sensitive values masked. */
  arguments: text('arguments', { mode: 'json' }).$type<JsonObject>().notNull(),
  /** The caller. */
  origin: text('origin', { mode: 'json' }).$type<Execution['origin']>().notNull(),
  /** The newest response that affected the state; later ones are only in the log. */
  responseSequence: integer('response_sequence'),
  /** Role that may see it, by its blueprint then; NULL: not known, so nobody may. */
  readRole: text('read_role', { enum: ROLES }),
});

export const executionResponse = sqliteTable(
  'execution_response',
  {
    executionNumber: integer('execution_number').notNull(),
    sequence: integer('sequence').notNull(),
    state: text('state', { enum: RESPONSE_STATES }).notNull(),
    payload: text('payload', { mode: 'json' }).$type<JsonObject>().notNull(),
    receivedAtMs: integer('received_at_ms').$type<EpochMs>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.executionNumber, table.sequence] })],
);
