/** Tables of state.db with the ports that people added to the built-in module. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { DurationMs } from '../../lib/time.ts';

export const serialPort = sqliteTable('serial_port', {
  name: text('name').primaryKey(),
  /** Device file, or `socket://host:port` of a serial server. */
  path: text('path').notNull(),
  baudRate: integer('baud_rate').notNull(),
  dataBits: integer('data_bits').notNull(),
  parity: text('parity').notNull(),
  stopBits: integer('stop_bits').notNull(),
  /** Further names under which scripts find it, device files of other boards too. */
  aliases: text('aliases', { mode: 'json' }).$type<string[]>().notNull(),
});

export const IO_KINDS = ['CAN', 'DIGITAL_INPUT', 'DIGITAL_OUTPUT', 'ANALOG_INPUT'] as const;
export const BIASES = ['AS_IS', 'DISABLED', 'PULL_UP', 'PULL_DOWN'] as const;

/** Columns that mean nothing for a kind are empty. */
export const ioPort = sqliteTable('io_port', {
  name: text('name').primaryKey(),
  kind: text('kind', { enum: IO_KINDS }).notNull(),
  path: text('path').notNull(),
  line: integer('line'),
  isActiveLow: integer('is_active_low', { mode: 'boolean' }),
  bias: text('bias', { enum: BIASES }),
  debounceMs: integer('debounce_ms').$type<DurationMs>(),
});
