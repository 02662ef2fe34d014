/** Tables of state.db with the choices of people for the energy of the site. */
import { integer, real, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { DurationS } from '../../lib/time.ts';
import type { Price } from './tariff.ts';

/**
 * Roles of devices in the site. The power of `pv` and `generator` is positive when they deliver, of `battery` when
 * it discharges, of `grid` when the site imports, of the others when they consume.
 */
export const ROLES = [
  'pv',
  'generator',
  'battery',
  'grid',
  'load',
  'electrolyser',
  'ev_charger',
  'heat_pump',
] as const;

export const energySource = sqliteTable('energy_source', {
  position: integer('position').primaryKey(),
  role: text('role', { enum: ROLES }).notNull(),
  deviceId: text('device_id').notNull(),
  /** Attribute with the power; NULL: only counters are known. */
  power: text('power'),
  /** The sign of the attribute is opposite to that of the role. */
  isInverted: integer('is_inverted', { mode: 'boolean' }).notNull(),
  stateOfCharge: text('state_of_charge'),
  /** Lifetime counter of the positive direction of the role: delivered, discharged, imported, consumed. */
  energyForward: text('energy_forward'),
  /** Lifetime counter of the negative direction: charged, exported. */
  energyReverse: text('energy_reverse'),
  /** W: no value of its power is larger; NULL: nobody said so. */
  powerMaxW: real('power_max_w'),
});

export const energySetting = sqliteTable('energy_setting', {
  id: integer('id').primaryKey(),
  gapAfterS: integer('gap_after_s').$type<DurationS>().notNull(),
  powerMaxW: integer('power_max_w').notNull(),
});

export const energyCurrency = sqliteTable('energy_currency', {
  id: integer('id').primaryKey(),
  currency: text('currency').notNull(),
});

export const energyTariff = sqliteTable('energy_tariff', {
  validFrom: text('valid_from').primaryKey(),
  importPrice: text('import_price', { mode: 'json' }).$type<Price>().notNull(),
  exportPrice: text('export_price', { mode: 'json' }).$type<Price>(),
  vatPercent: real('vat_percent').notNull(),
  standingChargePerDay: real('standing_charge_per_day').notNull(),
  standingChargePerMonth: real('standing_charge_per_month').notNull(),
});
