/** Who is this, and which role: users, sessions, access tokens, and the claim of the box. */
import { randomBytes, randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { type Clock, createStampCorrector } from '../../platform/clock/index.ts';
import type { Principal } from '../../platform/http/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { createAttempts } from './attempts.ts';
import { type Claim, createClaim } from './claim.ts';
import type { AuthEvents } from './model.ts';
import { createPasswords } from './password.ts';
import { SignIn } from './sign-in.ts';
import { type AuthStore, createAuthStore } from './store.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

export interface AuthOptions {
  /** state.db */
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId?: () => string;
  random?: (sizeBytes: number) => Buffer;
  /** Folder of the claim code's file. */
  dataDir: string;
  limits?: Limits['auth'];
}

export interface Auth {
  readonly events: Emitter<AuthEvents>;
  /**
   * Who a token belongs to; undefined when it is unknown, revoked or expired. Looks into the database each
   * time (microseconds), so that what another process changed counts at once.
   */
  authenticate(token: string): Principal | undefined;
  /** True once an installer has a password; before, nobody gets in without a token of the local command. */
  isClaimed(): boolean;
  /** The claim code of an unclaimed box, for its terminal. */
  claimCode(): string | undefined;
  /** File that holds the claim code while there is one. */
  readonly claimCodeFile: string;
  /** Makes a claim code if the box is unclaimed, and begins to watch for what other processes revoke. */
  start(): void;
  stop(): void;
  /**
   * Makes the box claimable again: installers lose password and sessions; tokens only if asked for. Returns
   * the new claim code, which stands in its file too.
   */
  resetAccess(options: { revokeTokens: boolean }): string;
  readonly tokens: Tokens;
  readonly users: Users;
  readonly signIn: SignIn;
}

export function createAuth(options: AuthOptions): Auth {
  const { database, clock, log, metrics, dataDir } = options;
  const { newId = randomUUID, random = randomBytes, limits = LIMITS.auth } = options;
  const store = createAuthStore(database);
  const events = new Emitter<AuthEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  const shared = {
    database,
    store,
    clock,
    log,
    metrics,
    limits,
    newId,
    random,
    dataDir,
    events,
  };
  const claim = createClaim(shared);
  const tokens = new Tokens(shared);
  const passwords = createPasswords(shared);
  const users = new Users({ ...shared, passwords, tokens, claim });
  const attempts = createAttempts(shared);
  const signIn = new SignIn({ ...shared, passwords, attempts, tokens, users, claim });
  const watch = createWatch({ clock, log, limits, tokens });
  return {
    events,
    tokens,
    users,
    signIn,
    claimCodeFile: claim.file,
    authenticate: (text) => tokens.authenticate(text),
    isClaimed: () => claim.isClaimed(),
    claimCode: () => claim.code(),
    start: () => {
      claim.ensure();
      watch.start();
    },
    stop: () => watch.stop(),
    resetAccess: ({ revokeTokens }) => resetAccess({ database, store, tokens, claim, log }, revokeTokens),
  };
}

function resetAccess(
  parts: { database: Database; store: AuthStore; tokens: Tokens; claim: Claim; log: Log },
  revokeTokens: boolean,
): string {
  const { database, store, tokens, claim, log } = parts;
  const code = database.transaction(() => {
    store.users.voidPasswords('INSTALLER');
    for (const user of store.users.all()) if (user.role === 'INSTALLER') tokens.endSessions(user.id);
    if (revokeTokens) tokens.revokeAll(['TOKEN', 'SESSION']);
    return claim.renew();
  });
  log.info('access was reset', { tokens_revoked: revokeTokens });
  return code;
}

/** The regular work: tell of tokens that ended, store last uses, correct stamps when the clock is set. */
function createWatch(parts: { clock: Clock; log: Log; limits: Limits['auth']; tokens: Tokens }) {
  const { clock, log, limits, tokens } = parts;
  const stops: (() => void)[] = [];

  function attempt(what: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      // A disk that takes no data must not end the gateway; the next round tries again.
      log.warnLimited(what, limits.lastUseIntervalMs, 'regular work on access tokens failed', {
        what,
        error,
      });
    }
  }

  return {
    start: () => {
      const stamps = createStampCorrector(clock, restamp);
      function restamp(): void {
        const correction = stamps.correction();
        if (correction) attempt('restamp', () => tokens.restamp(correction));
      }
      restamp();
      tokens.sweep(true);
      const sweeping = clock.setRepeating(limits.sweepIntervalMs, () =>
        attempt('sweep', () => tokens.sweep()),
      );
      const writing = clock.setRepeating(limits.lastUseWriteIntervalMs, () =>
        attempt('last uses', () => tokens.writeUses()),
      );
      stops.push(
        () => stamps.stop(),
        () => sweeping.cancel(),
        () => writing.cancel(),
      );
    },
    stop: () => {
      for (const stop of stops.splice(0)) stop();
      attempt('last uses', () => tokens.writeUses());
    },
  };
}
