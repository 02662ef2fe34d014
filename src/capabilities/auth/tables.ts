/** Tables of state.db that say who may do what. Secrets are hashes only. */
import { blob, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import { ISSUABLE_ROLES, TOKEN_KINDS } from './model.ts';

export const userAccount = sqliteTable('user_account', {
  id: text('id').primaryKey(),
  /** Unique, whatever its case: the column's collation. */
  name: text('name').notNull(),
  role: text('role', { enum: ISSUABLE_ROLES }).notNull(),
  /** argon2id in PHC form; NULL after access was reset, until the box is claimed again. */
  passwordHash: text('password_hash'),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});

export const accessToken = sqliteTable('access_token', {
  id: text('id').primaryKey(),
  kind: text('kind', { enum: TOKEN_KINDS }).notNull(),
  name: text('name').notNull(),
  role: text('role', { enum: ISSUABLE_ROLES }).notNull(),
  secretSha256: blob('secret_sha256', { mode: 'buffer' }).notNull(),
  /** The user it acts for; NULL when the local command made it. */
  userId: text('user_id'),
  /** The token that made it. */
  parentId: text('parent_id'),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
  expiresAtMs: integer('expires_at_ms').$type<EpochMs>(),
  lastUsedAtMs: integer('last_used_at_ms').$type<EpochMs>(),
  /** How far it moves forward with the clock: it was moved back with it, or made while the clock was behind. */
  behindMs: integer('behind_ms').$type<DurationMs>().notNull(),
});

/** One row while the box waits to be claimed; claiming deletes it. */
export const claim = sqliteTable('claim', {
  id: integer('id').primaryKey(),
  codeSha256: blob('code_sha256', { mode: 'buffer' }).notNull(),
  createdAtMs: integer('created_at_ms').$type<EpochMs>().notNull(),
});

/** One row while the clock is behind: it was put back, and not forward again. */
export const clockBehind = sqliteTable('clock_behind', {
  id: integer('id').primaryKey(),
  behindMs: integer('behind_ms').$type<DurationMs>().notNull(),
  /** Clock time when this was last known. */
  knownAtMs: integer('known_at_ms').$type<EpochMs>().notNull(),
});
