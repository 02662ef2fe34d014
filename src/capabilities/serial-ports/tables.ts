/** Table of state.db with the serial ports that people added to the built-in module. */
import { sql } from 'drizzle-orm';
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowRules } from '../../platform/sqlite/index.ts';

export const serialPort = sqliteTable('serial_port', {
  name: text('name').primaryKey(),
  path: text('path').notNull(),
  baudRate: integer('baud_rate').notNull(),
  dataBits: integer('data_bits').notNull(),
  parity: text('parity').notNull(),
  stopBits: integer('stop_bits').notNull(),
  aliases: text('aliases', { mode: 'json' }).$type<string[]>().notNull(),
});

export const serialPortRows = [
  rowRules({
    table: serialPort,
    json: { aliases: 'array' },
    checks: {
      aliases: sql`NOT EXISTS (SELECT 1 FROM json_each(${serialPort.aliases}) WHERE type != 'text')`,
    },
    repairs: { aliases: { aliases: sql`'[]'` } },
  }),
];
