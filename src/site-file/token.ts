/** The token with which a site file is applied: its name is in the audit trail. */
import type { Auth } from '../capabilities/auth/index.ts';

/** A token lives so long only if a power cut prevented its revocation. */
const LIFETIME_MS = 3_600_000;

/** Does the work with a token that is revoked afterwards. */
export async function withOwnToken<Result>(
  tokens: Auth['tokens'],
  work: (token: string) => Promise<Result>,
): Promise<Result> {
  const made = tokens.create({ name: 'site file', role: 'INSTALLER', lifetimeMs: LIFETIME_MS });
  try {
    return await work(made.text);
  } finally {
    tokens.revoke(made.record.id);
  }
}
