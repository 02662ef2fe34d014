/** Table of state.db with the device templates that people uploaded; those of the library are files of the program. */
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';

export const libraryTemplate = sqliteTable('library_template', {
  id: text('id').primaryKey(),
  /** YAML as uploaded. */
  content: text('content').notNull(),
});
