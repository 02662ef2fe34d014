/** Tables `access_token`, `user_account` and `claim` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { IssuableRole, TokenKind, TokenRecord, User } from './model.ts';

interface TokenRow {
  id: string;
  kind: string;
  name: string;
  role: string;
  user_id: string | null;
  user_name: string | null;
  user_role: string | null;
  parent_id: string | null;
  created_at_ms: number;
  expires_at_ms: number | null;
  last_used_at_ms: number | null;
}

interface UserRow {
  id: string;
  name: string;
  role: string;
  password_hash: string | null;
  created_at_ms: number;
}

const TOKEN = `SELECT t.id, t.kind, t.name, t.role, t.user_id, u.name AS user_name, u.role AS user_role,
    t.parent_id, t.created_at_ms, t.expires_at_ms, t.last_used_at_ms
  FROM access_token t LEFT JOIN user_account u ON u.id = t.user_id`;

export type AuthStore = ReturnType<typeof createAuthStore>;

export function createAuthStore(database: Database) {
  return {
    tokens: tokenStatements(database),
    users: userStatements(database),
    claim: claimStatements(database),
  };
}

function tokenStatements(database: Database) {
  const insert = database.prepare<unknown[]>(
    `INSERT INTO access_token (id, kind, name, role, secret_sha256, user_id, parent_id, created_at_ms, expires_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const byHash = database.prepare<[Buffer], TokenRow>(`${TOKEN} WHERE t.secret_sha256 = ?`);
  const byId = database.prepare<[string], TokenRow>(`${TOKEN} WHERE t.id = ?`);
  const all = database.prepare<[], TokenRow>(`${TOKEN} ORDER BY t.id`);
  const count = database.prepare<[TokenKind], { count: number }>(
    'SELECT COUNT(*) AS count FROM access_token WHERE kind = ?',
  );
  const remove = database.prepare<[string]>('DELETE FROM access_token WHERE id = ?');
  const removeAll = database.prepare<[TokenKind]>('DELETE FROM access_token WHERE kind = ?');
  const removeOf = database.prepare<[string, TokenKind, string]>(
    'DELETE FROM access_token WHERE user_id = ? AND kind = ? AND id <> ?',
  );
  const removeOldSessions = database.prepare<[string, string, number]>(
    `DELETE FROM access_token WHERE kind = 'SESSION' AND user_id = ? AND rowid NOT IN
       (SELECT rowid FROM access_token WHERE kind = 'SESSION' AND user_id = ? ORDER BY rowid DESC LIMIT ?)`,
  );
  const setLastUsed = database.prepare<[number, string]>(
    'UPDATE access_token SET last_used_at_ms = ? WHERE id = ?',
  );
  const shift = database.prepare<[number, number, string]>(
    'UPDATE access_token SET created_at_ms = created_at_ms + ?, expires_at_ms = expires_at_ms + ? WHERE id = ?',
  );
  const version = database.prepare<[], { data_version: number }>('PRAGMA data_version');

  return {
    insert: (token: TokenRecord, secretSha256: Buffer): void =>
      void insert.run(
        token.id,
        token.kind,
        token.name,
        token.role,
        secretSha256,
        token.user?.id ?? null,
        token.parentId ?? null,
        token.createdAtMs,
        token.expiresAtMs ?? null,
      ),
    byHash: (secretSha256: Buffer): TokenRecord | undefined => tokenOf(byHash.get(secretSha256)),
    byId: (id: string): TokenRecord | undefined => tokenOf(byId.get(id)),
    /** By id ascending. */
    all: (): TokenRecord[] => all.all().map(fromTokenRow),
    count: (kind: TokenKind): number => count.get(kind)?.count ?? 0,
    remove: (id: string): void => void remove.run(id),
    removeAll: (kind: TokenKind): void => void removeAll.run(kind),
    /** All of a user and kind, except one. */
    removeOf: (userId: string, kind: TokenKind, exceptId = ''): void =>
      void removeOf.run(userId, kind, exceptId),
    /** The oldest sessions of a user, so that `kept` remain. */
    removeOldSessions: (userId: string, kept: number): void =>
      void removeOldSessions.run(userId, userId, kept),
    setLastUsed: (id: string, atMs: number): void => void setLastUsed.run(atMs, id),
    /** Moves birth and expiry together. */
    shift: (id: string, byMs: number): void => void shift.run(byMs, byMs, id),
    /** Another number whenever another connection has changed the database (PRAGMA data_version). */
    version: (): number => version.get()?.data_version ?? 0,
  };
}

function userStatements(database: Database) {
  const insert = database.prepare<UserRow>(
    `INSERT INTO user_account (id, name, role, password_hash, created_at_ms)
     VALUES (:id, :name, :role, :password_hash, :created_at_ms)`,
  );
  const all = database.prepare<[], UserRow>('SELECT * FROM user_account ORDER BY id');
  const byId = database.prepare<[string], UserRow>('SELECT * FROM user_account WHERE id = ?');
  const byName = database.prepare<[string], UserRow>('SELECT * FROM user_account WHERE name = ?');
  const setRole = database.prepare<[string, string]>('UPDATE user_account SET role = ? WHERE id = ?');
  const setPassword = database.prepare<[string, string]>(
    'UPDATE user_account SET password_hash = ? WHERE id = ?',
  );
  const voidPasswords = database.prepare<[string]>(
    'UPDATE user_account SET password_hash = NULL WHERE role = ?',
  );
  const remove = database.prepare<[string]>('DELETE FROM user_account WHERE id = ?');
  const usable = database.prepare<[string], { count: number }>(
    'SELECT COUNT(*) AS count FROM user_account WHERE role = ? AND password_hash IS NOT NULL',
  );

  return {
    insert: (user: User, passwordHash: string): void =>
      void insert.run({
        id: user.id,
        name: user.name,
        role: user.role,
        password_hash: passwordHash,
        created_at_ms: user.createdAtMs,
      }),
    /** By id ascending. */
    all: (): User[] => all.all().map(fromUserRow),
    byId: (id: string): User | undefined => userOf(byId.get(id)),
    byName: (name: string): User | undefined => userOf(byName.get(name)),
    passwordHash: (id: string): string | undefined => byId.get(id)?.password_hash ?? undefined,
    setRole: (id: string, role: IssuableRole): void => void setRole.run(role, id),
    setPassword: (id: string, passwordHash: string): void => void setPassword.run(passwordHash, id),
    voidPasswords: (role: IssuableRole): void => void voidPasswords.run(role),
    remove: (id: string): void => void remove.run(id),
    /** Users of a role who can log in. */
    countUsable: (role: IssuableRole): number => usable.get(role)?.count ?? 0,
  };
}

function claimStatements(database: Database) {
  const select = database.prepare<[], { code_sha256: Buffer }>('SELECT code_sha256 FROM claim');
  const put = database.prepare<[Buffer, number]>(
    `INSERT INTO claim (id, code_sha256, created_at_ms) VALUES (1, ?, ?)
     ON CONFLICT (id) DO UPDATE SET code_sha256 = excluded.code_sha256, created_at_ms = excluded.created_at_ms`,
  );
  const remove = database.prepare<[]>('DELETE FROM claim');
  return {
    codeHash: (): Buffer | undefined => select.get()?.code_sha256,
    put: (codeSha256: Buffer, atMs: number): void => void put.run(codeSha256, atMs),
    remove: (): void => void remove.run(),
  };
}

function tokenOf(row: TokenRow | undefined): TokenRecord | undefined {
  return row && fromTokenRow(row);
}

function fromTokenRow(row: TokenRow): TokenRecord {
  const { user_id: userId, user_name: userName, user_role: userRole } = row;
  return {
    id: row.id,
    kind: row.kind as TokenKind,
    name: row.name,
    role: row.role as IssuableRole,
    ...(userId !== null && { user: { id: userId, name: userName ?? '', role: userRole as IssuableRole } }),
    ...(row.parent_id !== null && { parentId: row.parent_id }),
    createdAtMs: row.created_at_ms,
    ...(row.expires_at_ms !== null && { expiresAtMs: row.expires_at_ms }),
    ...(row.last_used_at_ms !== null && { lastUsedAtMs: row.last_used_at_ms }),
  };
}

function userOf(row: UserRow | undefined): User | undefined {
  return row && fromUserRow(row);
}

function fromUserRow(row: UserRow): User {
  return {
    id: row.id,
    name: row.name,
    role: row.role as IssuableRole,
    hasPassword: row.password_hash !== null,
    createdAtMs: row.created_at_ms,
  };
}
