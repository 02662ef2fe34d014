/** Who is this, and which role: access tokens. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Principal } from '../../platform/http/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { type AuthEvents, type IssuableRole, type NewToken, principalOf } from './model.ts';
import { createAuthStore } from './store.ts';

/** 256 bits: nobody guesses it, so a plain hash is enough to store it. */
const SECRET_BYTES = 32;
const TOKEN_PREFIX = 'gw_';

export interface AuthOptions {
  /** state.db */
  database: Database;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  newId?: () => string;
  randomBytes?: (sizeBytes: number) => Buffer;
  /** Folder of the claim code's file. */
  dataDir: string;
}

export interface TokenRequest {
  name: string;
  role: IssuableRole;
  /** Absent: valid until revoked. */
  lifetimeMs?: number | undefined;
}

export interface Auth {
  readonly events: Emitter<AuthEvents>;
  /**
   * Who a token belongs to; undefined when it is unknown, revoked or expired. Looks into the database each
   * time (microseconds), so that what another process changed counts at once. Expiry is judged only while
   * the clock is set.
   */
  authenticate(token: string): Principal | undefined;
  createToken(request: TokenRequest): NewToken;
}

export function createAuth(options: AuthOptions): Auth {
  const { database, clock, log, newId = randomUUID, randomBytes: random = randomBytes } = options;
  const store = createAuthStore(database);
  const events = new Emitter<AuthEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  return {
    events,
    authenticate: (text) => {
      const token = store.tokenByHash(hashOf(text));
      if (token?.expiresAtMs !== undefined && clock.isSet() && clock.wallMs() >= token.expiresAtMs)
        return undefined;
      return token && principalOf(token);
    },
    createToken: ({ name, role, lifetimeMs }) => {
      const createdAtMs = clock.wallMs();
      const text = `${TOKEN_PREFIX}${random(SECRET_BYTES).toString('base64url')}`;
      const record = {
        id: newId(),
        name,
        role,
        createdAtMs,
        ...(lifetimeMs !== undefined && { expiresAtMs: createdAtMs + lifetimeMs }),
      };
      store.insertToken(record, hashOf(text));
      log.info('token made', { token_id: record.id, role });
      return { record, text };
    },
  };
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
