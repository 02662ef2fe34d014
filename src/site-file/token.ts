/** The identity under which a file acts: changes stand in the audit trail with its name. */
import type { Auth } from '../capabilities/auth/index.ts';

/** Only what a power cut leaves behind lives as long. */
const LIFETIME_MS = 3_600_000;

/** Does `work` with a token of its own, which ends with it. */
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
