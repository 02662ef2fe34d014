/** Tables of state.db with blueprints and uploaded device profiles. */
import { sql } from 'drizzle-orm';
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { rowRules } from '../../platform/sqlite/index.ts';

export const blueprint = sqliteTable('blueprint', {
  id: text('id').primaryKey(),
  source: text('source', { enum: ['built_in', 'uploaded'] }).notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  /** For a built-in one: hash of its sources and of the program's version. */
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

/** The members that readers of a compiled manifest rely on. */
const isManifest = sql`(SELECT min(coalesce(json_type(${blueprint.manifest}, '$.' || key) = value, 0)) FROM json_each(
  '{"display_name":"text","implements":"array","properties":"object","telemetry":"object","alerts":"object",
    "commands":"object","configuration":"object"}'))`;

/** An empty manifest, so that devices of the blueprint stay; built-in blueprints are written anew. */
const repairedManifest = {
  manifest: sql`json_object('blueprint_spec', 'device_compiled/3.0', 'display_name', 'Unreadable blueprint',
    'description', 'The stored manifest could not be read. Upload the blueprint again and assign it.',
    'implements', json_array(), 'properties', json_object(), 'telemetry', json_object(), 'alerts', json_object(),
    'commands', json_object(), 'configuration', json_object())`,
  fingerprint: sql`NULL`,
};

/** Checks of these tables' rows; the start repairs damaged rows or moves them away. */
export const blueprintRows = [
  rowRules({
    table: blueprint,
    json: { manifest: 'object' },
    checks: { manifest: isManifest },
    repairs: {
      source: { source: sql`iif(${blueprint.original} IS NULL, 'built_in', 'uploaded')` },
      createdAtMs: { createdAtMs: sql`0` },
      fingerprint: { fingerprint: sql`NULL` },
      manifest: repairedManifest,
      script: { script: sql`NULL` },
      original: { original: sql`NULL` },
    },
  }),
  rowRules({ table: blueprintUnused }),
  rowRules({ table: deviceProfile, repairs: { uploadedAtMs: { uploadedAtMs: sql`0` } } }),
];
