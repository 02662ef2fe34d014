/** Tables of state.db with the alerts of devices and their rhythms. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { ROLES } from '../../lib/role.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';

/** Lowest first, as manifests name them (docs/interface/blueprints.md#alerts). */
export const ALERT_SEVERITIES = ['info', 'warning', 'error'] as const;
/** GATEWAY: raised by the gateway for a device that cannot report it itself. */
export const ALERT_SOURCES = ['DEVICE', 'GATEWAY'] as const;

/** Alerts, with the moments when they were raised and cleared. */
export const alert = sqliteTable('alert', {
  /** Grows with every alert, whatever the wall clock says. */
  number: integer('number').primaryKey(),
  id: text('id').notNull(),
  deviceId: text('device_id').notNull(),
  source: text('source', { enum: ALERT_SOURCES }).notNull(),
  name: text('name').notNull(),
  /** As the manifest had it when it was raised; a name that it does not declare is an error. */
  severity: text('severity', { enum: ALERT_SEVERITIES }).notNull(),
  displayName: text('display_name').notNull(),
  /** The device's entry in `alert_details`. */
  details: text('details'),
  /** Role that may see it: the lowest access level of the attributes that reported it, by the blueprint then; NULL: not known. */
  readRole: text('read_role', { enum: ROLES }),
  /** It has outlasted the grace period of the manifest. */
  isLasting: integer('is_lasting', { mode: 'boolean' }).notNull(),
  /** 1, and one more each time it came back within a moment. */
  timesRaised: integer('times_raised').notNull(),
  raisedAtMs: integer('raised_at_ms').$type<EpochMs>().notNull(),
  /** NULL: it is raised. */
  clearedAtMs: integer('cleared_at_ms').$type<EpochMs>(),
  acknowledgedAtMs: integer('acknowledged_at_ms').$type<EpochMs>(),
  /** Name of the user, token or rule. */
  acknowledgedBy: text('acknowledged_by'),
  /** It is acknowledged until then; NULL: for good. */
  acknowledgedUntilMs: integer('acknowledged_until_ms').$type<EpochMs>(),
});

/** The longest pause of each of the last days of each device, the oldest first. */
export const deviceRhythm = sqliteTable('device_rhythm', {
  deviceId: text('device_id').primaryKey(),
  longestPausesMs: text('longest_pauses_ms', { mode: 'json' }).$type<readonly DurationMs[]>().notNull(),
});
