/** Tables of state.db with blueprints and uploaded device profiles. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';

export const blueprint = sqliteTable('blueprint', {
  id: text('id').primaryKey(),
  source: text('source', { enum: ['built_in', 'uploaded'] }).notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  /**
   * Digest that identifies a blueprint: for a built-in one of its sources and the program's version, for one made by
   * the library of its files.
   */
  fingerprint: text('fingerprint'),
  /** Compiled manifest as JSON. */
  manifest: text('manifest').notNull(),
  /** Compiled Lua file; NULL without a script. */
  script: blob('script', { mode: 'buffer' }),
  /** Zip as uploaded; NULL for built-in ones, which are made into a zip on demand. */
  original: blob('original', { mode: 'buffer' }),
});

/** Days of running that an uploaded blueprint was seen without a device. */
export const blueprintUnused = sqliteTable('blueprint_unused', {
  blueprintId: text('blueprint_id').primaryKey(),
  days: integer('days').notNull(),
});

/** Uploaded device profiles; the built-in ones are files of the program. */
export const deviceProfile = sqliteTable('device_profile', {
  /** Below the profile tree: energy/battery.yml. */
  path: text('path').primaryKey(),
  content: text('content').notNull(),
  uploadedAtMs: integer('uploaded_at_ms').$type<EpochMs>().notNull(),
});
