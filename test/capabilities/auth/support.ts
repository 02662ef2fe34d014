/** Access on a real state.db, with cheap password hashes. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Auth } from '../../../src/capabilities/auth/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import type { Database } from '../../../src/platform/sqlite/index.ts';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, recordingLog, temporaryFolder } from '../../support/workspace.ts';

export const CHEAP: Limits['auth'] = { ...LIMITS.auth, argon2MemoryKib: 64, argon2Passes: 1 };

export interface AuthSetup {
  auth: Auth;
  clock: TestClock;
  dataDir: string;
  database: Database;
  lines: LogLine[];
  /** How many passwords are hashed or wait for it, which takes real time. */
  hashing: () => Promise<number>;
  /** Keys whose end was reported. */
  ended: string[];
  /** Another program on the same files: the local command, or the gateway after a restart. */
  open: (clock?: TestClock) => Auth;
}

export function startAuth(
  test: Pick<TestContext, 'after'>,
  { limits = CHEAP, clock = new TestClock() }: { limits?: Limits['auth']; clock?: TestClock } = {},
): AuthSetup {
  const { log, lines } = recordingLog(clock);
  const dataDir = temporaryFolder(test);
  const openState = (): Database => {
    const database = openMigrated('state', {
      path: join(dataDir, 'state.db'),
      clock,
      log,
    });
    test.after(() => database.close());
    return database;
  };
  const create = (database: Database, ofClock = clock, metrics = createMetrics()): Auth =>
    new Auth({ database, clock: ofClock, log, metrics, dataDir, limits });
  const metrics = createMetrics();
  const hashing = async (): Promise<number> =>
    Number(/queue_depth\{queue="password_hashes"\} (\d+)/.exec(await metrics.text())?.[1]);
  const database = openState();
  const auth = create(database, clock, metrics);
  const ended: string[] = [];
  auth.events.on('token_revoked', 'test', ({ tokenId }) => ended.push(tokenId));
  auth.start();
  test.after(() => auth.stop());
  return {
    auth,
    clock,
    dataDir,
    database,
    lines,
    hashing,
    ended,
    open: (ofClock) => create(openState(), ofClock),
  };
}
