/** Table of state.db with documents of devices; what they hold are files. */
import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { EpochMs } from '../../lib/time.ts';
import { MEDIA_TYPES } from './model.ts';

export const deviceDocument = sqliteTable('device_document', {
  id: text('id').primaryKey(),
  deviceId: text('device_id').notNull(),
  name: text('name').notNull(),
  mediaType: text('media_type', { enum: MEDIA_TYPES }).notNull(),
  sizeBytes: integer('size_bytes').notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});
