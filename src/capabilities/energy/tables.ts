/** Tables of state.db with what people said of the energy of the site. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { rowRules } from '../../platform/sqlite/index.ts';
import { ROLES } from './model.ts';

export const energySource = sqliteTable('energy_source', {
  position: integer('position').primaryKey(),
  role: text('role', { enum: ROLES }).notNull(),
  deviceId: text('device_id').notNull(),
  power: text('power'),
  isInverted: integer('is_inverted', { mode: 'boolean' }).notNull(),
  stateOfCharge: text('state_of_charge'),
  energyForward: text('energy_forward'),
  energyReverse: text('energy_reverse'),
});

export const energySetting = sqliteTable('energy_setting', {
  id: integer('id').primaryKey(),
  gapAfterS: integer('gap_after_s').notNull(),
});

export const energyRows = [rowRules({ table: energySource }), rowRules({ table: energySetting })];
