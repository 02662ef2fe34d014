/** Tables of state.db with credentials of devices: hashes and fingerprints, never secrets. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';

export const deviceCredential = sqliteTable('device_credential', {
  hardwareId: text('hardware_id').primaryKey(),
  deviceId: text('device_id').notNull(),
  salt: blob('salt', { mode: 'buffer' }).notNull(),
  sha256: blob('password_sha256', { mode: 'buffer' }).notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});

/** Client certificates that were issued and not revoked; private keys are not stored. */
export const deviceCertificate = sqliteTable('device_certificate', {
  /** SHA-256, lower-case hexadecimal. */
  fingerprint: text('fingerprint').primaryKey(),
  serial: text('serial').notNull(),
  hardwareId: text('hardware_id').notNull(),
  deviceId: text('device_id').notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});
