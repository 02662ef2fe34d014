/** Access tokens as the local command makes them, without its program. */
import { join } from 'node:path';
import { Auth, ISSUABLE_ROLES, type IssuableRole } from '../../src/capabilities/auth/index.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { type Database, openDatabase } from '../../src/platform/sqlite/index.ts';
import { MIGRATIONS_DIR, recordingLog } from './workspace.ts';

export type Tokens = Record<IssuableRole, string>;

/** One of each role, by another connection to the state.db of a gateway that may run. */
export function createTokens(dataDir: string, clock: Clock): Tokens {
  const { log } = recordingLog(clock);
  const path = join(dataDir, 'state.db');
  const database = openDatabase({ path, migrationsDir: join(MIGRATIONS_DIR, 'state'), clock, log });
  try {
    return tokensIn(database, clock);
  } finally {
    database.close();
  }
}

/** One of each role. */
export function tokensIn(database: Database, clock: Clock): Tokens {
  const { log } = recordingLog(clock);
  // Nobody claims a box here: no file is written.
  const auth = new Auth({ database, clock, log, metrics: createMetrics(), dataDir: '' });
  const entries = ISSUABLE_ROLES.map((role) => [role, auth.tokens.create({ name: role, role }).text]);
  return Object.fromEntries(entries) as Tokens;
}
