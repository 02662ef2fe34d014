/** Rows of users, access tokens and the claim. */
import { and, eq, gt, isNotNull, ne, type SQL, sql } from 'drizzle-orm';
import type { Emitter } from '../../lib/emitter.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import {
  absent,
  countOf,
  type Database,
  given,
  placeholders,
  present,
  presentRow,
  updateOf,
  upsert,
} from '../../platform/sqlite/index.ts';
import type { AuthEvents, IssuableRole, TokenKind, TokenRecord, User } from './model.ts';
import { accessToken, claim, clockBehind, userAccount } from './tables.ts';

export type AuthStore = ReturnType<typeof createAuthStore>;

export function createAuthStore(database: Database) {
  return {
    tokens: { ...tokenReader(database), ...tokenWriter(database) },
    users: userStatements(database),
    claim: claimStatements(database),
    behind: behindStatements(database),
  };
}

const { id, kind, userId } = accessToken;
const isToken = given(id);
const isKind = given(kind);
const isOfUser = given(userId);

function tokenReader(database: Database) {
  const { orm } = database;
  const { name, role, parentId, createdAtMs, expiresAtMs, lastUsedAtMs } = accessToken;
  const user = { id: userAccount.id, name: userAccount.name, role: userAccount.role };
  const tokens = () =>
    orm
      .select({ id, kind, name, role, user, parentId, createdAtMs, expiresAtMs, lastUsedAtMs })
      .from(accessToken)
      .leftJoin(userAccount, eq(userAccount.id, userId));
  const byHash = tokens()
    .where(eq(accessToken.secretSha256, sql.placeholder('hash')))
    .prepare();
  const byId = tokens().where(isToken).prepare();
  const all = tokens().orderBy(id).prepare();
  const countKind = countOf(orm, accessToken, isKind);

  return {
    byHash: (hash: Buffer): TokenRecord | undefined => presentRow(byHash.get({ hash })),
    byId: (wanted: string): TokenRecord | undefined => presentRow(byId.get({ id: wanted })),
    /** By id ascending. */
    all: (): TokenRecord[] => all.all().map(present),
    count: (wanted: TokenKind): number => countKind({ kind: wanted }),
  };
}

function tokenWriter({ orm }: Database) {
  const { createdAtMs, expiresAtMs, behindMs } = accessToken;
  const insert = orm.insert(accessToken).values(placeholders(accessToken)).prepare();
  const removeThose = (condition: SQL | undefined) => orm.delete(accessToken).where(condition).prepare();
  const remove = removeThose(isToken);
  const removeAll = removeThose(isKind);
  const removeOf = removeThose(and(isOfUser, isKind, ne(id, sql.placeholder('exceptId'))));
  const removeOldSessions = removeThose(
    and(
      eq(kind, 'SESSION'),
      isOfUser,
      sql`rowid NOT IN (SELECT rowid FROM ${accessToken} WHERE ${kind} = 'SESSION' AND ${isOfUser}
        ORDER BY rowid DESC LIMIT ${sql.placeholder('kept')})`,
    ),
  );
  const setLastUsed = updateOf(orm, accessToken, isToken, 'lastUsedAtMs');
  const by = sql.placeholder('byMs');
  const shift = orm
    .update(accessToken)
    .set({
      createdAtMs: sql`${createdAtMs} + ${by}`,
      expiresAtMs: sql`${expiresAtMs} + ${by}`,
      behindMs: sql`${behindMs} + max(0, -${by})`,
    })
    .where(isToken)
    .prepare();
  const ahead = sql`min(${behindMs}, ${sql.placeholder('stepMs')})`;
  const goAhead = orm
    .update(accessToken)
    .set({
      createdAtMs: sql`${createdAtMs} + ${ahead}`,
      expiresAtMs: sql`${expiresAtMs} + ${ahead}`,
      behindMs: sql`${behindMs} - ${ahead}`,
    })
    .where(gt(behindMs, 0))
    .prepare();

  return {
    insert: ({ user, ...token }: TokenRecord, secretSha256: Buffer, behindMs: DurationMs): void =>
      void insert.run({ ...absent(accessToken), ...token, secretSha256, userId: user?.id ?? null, behindMs }),
    remove: (wanted: string): void => void remove.run({ id: wanted }),
    removeAll: (wanted: TokenKind): void => void removeAll.run({ kind: wanted }),
    /** All of a user and kind, except one. */
    removeOf: (owner: string, wanted: TokenKind, exceptId = ''): void =>
      void removeOf.run({ userId: owner, kind: wanted, exceptId }),
    /** The oldest sessions of a user, so that `kept` remain. */
    removeOldSessions: (owner: string, kept: number): void =>
      void removeOldSessions.run({ userId: owner, kept }),
    setLastUsed: (wanted: string, lastUsedAtMs: EpochMs): void =>
      void setLastUsed.run({ id: wanted, lastUsedAtMs }),
    /** Moves creation and expiry together; a token that is moved back moves forward again with the clock. */
    shift: (wanted: string, byMs: DurationMs): void => void shift.run({ id: wanted, byMs }),
    /** Moves those that are behind by the step, or by what they are behind if that is less. */
    goAhead: (stepMs: DurationMs): void => void goAhead.run({ stepMs }),
  };
}

function userStatements({ orm }: Database) {
  const { id, name, role, passwordHash } = userAccount;
  const isIt = given(id);
  const isRole = given(role);
  const insert = orm.insert(userAccount).values(placeholders(userAccount)).prepare();
  const all = orm.select().from(userAccount).orderBy(id).prepare();
  const byId = orm.select().from(userAccount).where(isIt).prepare();
  const byName = orm.select().from(userAccount).where(given(name)).prepare();
  const setRole = updateOf(orm, userAccount, isIt, 'role');
  const setPassword = updateOf(orm, userAccount, isIt, 'passwordHash');
  const voidPasswords = orm.update(userAccount).set({ passwordHash: null }).where(isRole).prepare();
  const remove = orm.delete(userAccount).where(isIt).prepare();
  const countUsable = countOf(orm, userAccount, and(isRole, isNotNull(passwordHash)));

  return {
    insert: (user: User, hash: string): void => void insert.run({ ...user, passwordHash: hash }),
    /** By id ascending. */
    all: (): User[] => all.all().map(userOf),
    byId: (wanted: string): User | undefined => maybeUser(byId.get({ id: wanted })),
    byName: (wanted: string): User | undefined => maybeUser(byName.get({ name: wanted })),
    passwordHash: (wanted: string): string | undefined => byId.get({ id: wanted })?.passwordHash ?? undefined,
    setRole: (wanted: string, given: IssuableRole): void => void setRole.run({ id: wanted, role: given }),
    setPassword: (wanted: string, hash: string): void =>
      void setPassword.run({ id: wanted, passwordHash: hash }),
    voidPasswords: (given: IssuableRole): void => void voidPasswords.run({ role: given }),
    remove: (wanted: string): void => void remove.run({ id: wanted }),
    /** Users of a role who can log in. */
    countUsable: (given: IssuableRole): number => countUsable({ role: given }),
  };
}

function claimStatements({ orm }: Database) {
  const select = orm.select().from(claim).prepare();
  const put = upsert({ orm }, claim);
  const remove = orm.delete(claim).prepare();
  return {
    codeHash: (): Buffer | undefined => select.get()?.codeSha256,
    put: (codeSha256: Buffer, createdAtMs: EpochMs): void => void put.run({ id: 1, codeSha256, createdAtMs }),
    remove: (): void => void remove.run(),
  };
}

function behindStatements({ orm }: Database) {
  const select = orm.select().from(clockBehind).prepare();
  const put = upsert({ orm }, clockBehind);
  const remove = orm.delete(clockBehind).prepare();
  return {
    /** Undefined while the clock is not behind. */
    get: () => select.get(),
    put: (behindMs: DurationMs, knownAtMs: EpochMs): void =>
      void (behindMs > 0 ? put.run({ id: 1, behindMs, knownAtMs }) : remove.run()),
  };
}

function maybeUser(row: typeof userAccount.$inferSelect | undefined): User | undefined {
  return row && userOf(row);
}

function userOf({ passwordHash, ...user }: typeof userAccount.$inferSelect): User {
  return { ...user, hasPassword: passwordHash !== null };
}

// Dependencies of all parts of access.

export interface AuthParts extends Instruments {
  database: Database;
  store: AuthStore;
  limits: Limits['auth'];
  events: Emitter<AuthEvents>;
  /** Folder with the file of the claim code. */
  dataDir: string;
  newId: () => string;
  random: (sizeBytes: number) => Buffer;
}
