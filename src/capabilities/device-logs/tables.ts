/** Tables of history.db with the logs of devices. */
import { customType, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs, EpochS } from '../../lib/time.ts';
import { LOG_SEVERITIES, type LogSeverity } from '../../protocol/device-log.ts';

/** A severity, stored as its place in the list of severities. */
export const severityColumn = customType<{ data: LogSeverity; driverData: number }>({
  dataType: () => 'integer',
  toDriver: (severity) => LOG_SEVERITIES.indexOf(severity),
  fromDriver: (place) => LOG_SEVERITIES[place] ?? 'info',
});

/** Entries refer to a device by a small number. */
export const logDevice = sqliteTable('log_device', {
  number: integer('number').primaryKey(),
  deviceId: text('device_id').notNull(),
});

export const deviceLog = sqliteTable('device_log', {
  id: integer('id').primaryKey(),
  deviceNumber: integer('device_number').notNull(),
  /** Receipt at the broker. */
  receivedAtMs: integer('received_at_ms').$type<EpochMs>().notNull(),
  /** The device's own time, Unix seconds. */
  deviceTimeS: integer('device_time_s').$type<EpochS>(),
  severity: severityColumn('severity').notNull(),
  persist: integer('persist', { mode: 'boolean' }).notNull(),
  message: text('message').notNull(),
});

/** Bytes of the entries of each device, kept by triggers. */
export const deviceLogSize = sqliteTable('device_log_size', {
  deviceNumber: integer('device_number').primaryKey(),
  sizeBytes: integer('size_bytes').notNull(),
});
