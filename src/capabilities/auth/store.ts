/** Table `access_token` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { IssuableRole, TokenRecord } from './model.ts';

interface TokenRow {
  id: string;
  name: string;
  role: string;
  created_at_ms: number;
  expires_at_ms: number | null;
}

export type AuthStore = ReturnType<typeof createAuthStore>;

export function createAuthStore(database: Database) {
  const insertToken = database.prepare<TokenRow & { secret_sha256: Buffer }>(
    `INSERT INTO access_token (id, name, role, secret_sha256, created_at_ms, expires_at_ms)
     VALUES (:id, :name, :role, :secret_sha256, :created_at_ms, :expires_at_ms)`,
  );
  const selectByHash = database.prepare<[Buffer], TokenRow>(
    `SELECT id, name, role, created_at_ms, expires_at_ms FROM access_token
     WHERE secret_sha256 = ? AND revoked_at_ms IS NULL`,
  );
  return {
    insertToken: (token: TokenRecord, secretSha256: Buffer): void =>
      void insertToken.run({
        id: token.id,
        name: token.name,
        role: token.role,
        secret_sha256: secretSha256,
        created_at_ms: token.createdAtMs,
        expires_at_ms: token.expiresAtMs ?? null,
      }),
    /** A token that is not revoked. */
    tokenByHash: (secretSha256: Buffer): TokenRecord | undefined => {
      const row = selectByHash.get(secretSha256);
      return row && fromTokenRow(row);
    },
  };
}

function fromTokenRow(row: TokenRow): TokenRecord {
  return {
    id: row.id,
    name: row.name,
    role: row.role as IssuableRole,
    createdAtMs: row.created_at_ms,
    ...(row.expires_at_ms !== null && { expiresAtMs: row.expires_at_ms }),
  };
}
