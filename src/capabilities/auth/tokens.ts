/**
 * Access tokens and sessions. A session is the token of a login; both are rows of one table, judged the same
 * way. Tokens that were read are cached only while no other process changes the database, so that its changes
 * count at once.
 */
import { hash } from 'node:crypto';
import { insufficientRole, requireFound, requireUnderLimit } from '../../lib/errors.ts';
import { type Role, roleIncludes, ROLES } from '../../lib/role.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import { correctStamp, type StampCorrection } from '../../platform/clock/index.ts';
import type { Principal } from '../../platform/http/index.ts';
import {
  effectiveRole,
  type IssuableRole,
  type NewToken,
  personOf,
  principalOf,
  type TokenKind,
  type TokenRecord,
  type User,
} from './model.ts';
import type { AuthParts } from './store.ts';

interface TokenRequest {
  name: string;
  role: IssuableRole;
  /** Absent: valid until revoked, or as long as the token that makes it. */
  lifetimeMs?: DurationMs | undefined;
}

/** @throws GatewayError insufficient_role (403) when `needed` is above what the caller has */
function requireRole(actual: Role, needed: Role, message: string): void {
  if (!roleIncludes(actual, needed)) throw insufficientRole(message, needed, actual);
}

export class Tokens {
  readonly #options: AuthParts;
  /** Tokens that were valid at the last sweep, or have been used since, and their roles. */
  #known = new Map<string, IssuableRole>();
  #version = -1;
  #nextExpiryMs: EpochMs = Infinity;
  /** Cache of valid tokens with their principals, by text. */
  readonly #read = new Map<string, { token: TokenRecord; principal: Principal }>();
  #readVersion = -1;
  /** Token → moment of its last use that is not stored yet. */
  readonly #used = new Map<string, number>();
  /** Keeps their times in step with the clock. */
  readonly times: TokenTimes;

  constructor(options: AuthParts) {
    this.#options = options;
    this.times = new TokenTimes(options, () => this.#sweepAfterCommit());
  }

  /** The owner of a token; undefined when it is unknown, revoked or expired. */
  authenticate(text: string): Principal | undefined {
    const found = this.#find(text);
    if (found === undefined || this.isExpired(found.token)) return undefined;
    this.#noteUse(found.token);
    this.#watch(found.token);
    return found.principal;
  }

  /** The caller that a new token stands for. */
  principalOf(token: TokenRecord): Principal {
    return principalOf(
      token,
      personOf(token, (id) => this.#options.store.tokens.byId(id)),
    );
  }

  /** The version changes when another connection writes; own changes clear the cache. */
  #find(text: string): { token: TokenRecord; principal: Principal } | undefined {
    const { database, limits, store } = this.#options;
    const version = database.foreignVersion();
    if (version !== this.#readVersion || this.#read.size >= limits.tokens) this.#read.clear();
    this.#readVersion = version;
    const known = this.#read.get(text);
    if (known) return known;
    const token = store.tokens.byHash(hashOf(text));
    if (!token) return undefined;
    const found = { token, principal: this.principalOf(token) };
    this.#read.set(text, found);
    return found;
  }

  /** False while the clock is not set. */
  isExpired({ expiresAtMs }: TokenRecord): boolean {
    const { clock } = this.#options;
    return expiresAtMs !== undefined && clock.isSet() && clock.wallMs() >= expiresAtMs;
  }

  /** For the owner of the box; role and lifetime are free. @throws GatewayError token_limit_reached (422) */
  create(request: TokenRequest): NewToken {
    return this.#make('TOKEN', request, undefined, undefined);
  }

  /**
   * For a caller: role and lifetime do not exceed its own, and the token ends with the one that made it.
   * @throws GatewayError insufficient_role (403), token_limit_reached (422)
   */
  createFor(maker: TokenRecord, request: TokenRequest): NewToken {
    const role = effectiveRole(maker);
    requireRole(role, request.role, `A caller of role ${role} cannot make a token of role ${request.role}.`);
    const isSession = maker.kind === 'SESSION';
    return this.#make('TOKEN', request, maker.user, isSession ? undefined : maker);
  }

  /** The session of a login; the oldest ones of the user end when there are too many. */
  createSession(user: User): NewToken {
    const { database, limits, store } = this.#options;
    return database.transaction(() => {
      const lifetimeMs = limits.sessionLifetimeMs;
      const made = this.#make('SESSION', { name: user.name, role: user.role, lifetimeMs }, user, undefined);
      store.tokens.removeOldSessions(user.id, limits.sessionsPerUser);
      return made;
    });
  }

  #make(
    kind: TokenKind,
    { name, role, lifetimeMs }: TokenRequest,
    user: TokenRecord['user'],
    parent: TokenRecord | undefined,
  ): NewToken {
    const { clock, database, log, newId, random, store } = this.#options;
    const createdAtMs = clock.wallMs();
    const ends = [parent?.expiresAtMs, lifetimeMs === undefined ? undefined : createdAtMs + lifetimeMs];
    const expiresAtMs = Math.min(...ends.filter((end) => end !== undefined));
    const text = newTokenText(random);
    const record: TokenRecord = {
      id: newId(),
      kind,
      name,
      role,
      ...(user && { user: { id: user.id, name: user.name, role: user.role } }),
      ...(parent && { parentId: parent.id }),
      createdAtMs,
      ...(Number.isFinite(expiresAtMs) && { expiresAtMs: Math.round(expiresAtMs) }),
    };
    database.transaction(() => {
      if (kind === 'TOKEN') this.#requireRoom(record);
      store.tokens.insert(record, hashOf(text), this.times.behindMs);
      this.#sweepAfterCommit();
    });
    log.info('token made', { token_id: record.id, kind, role, user_id: user?.id });
    return { record, text };
  }

  /** Each token of the local command counts as a person of its own, so only the total bounds those. */
  #requireRoom(record: TokenRecord): void {
    const { limits, store } = this.#options;
    const tokens = new Map(store.tokens.all().map((token) => [token.id, token]));
    const personBehind = (token: TokenRecord): string => personOf(token, (id) => tokens.get(id));
    const person = personBehind(record);
    const made = [...tokens.values()].filter(({ kind }) => kind === 'TOKEN');
    const own = made.filter((token) => personBehind(token) === person);
    const requireFewer = (limit: number, count: number, whose: string): void => {
      const message = `${whose} ${limit} access tokens; revoke those that nobody uses.`;
      requireUnderLimit('token_limit_reached', message, count, limit);
    };
    requireFewer(limits.tokensPerPerson, own.length, 'You have');
    const byTokens = own.filter(({ parentId }) => parentId !== undefined);
    if (record.parentId !== undefined)
      requireFewer(limits.tokensByTokens, byTokens.length, 'Your tokens have made');
    requireFewer(limits.tokens, made.length, 'There are');
  }

  /** Every token, by id ascending; with a last use that is not on disk yet. */
  all(): TokenRecord[] {
    return this.#options.store.tokens.all().map((token) => {
      const lastUsedAtMs = this.#used.get(token.id);
      return lastUsedAtMs === undefined ? token : { ...token, lastUsedAtMs };
    });
  }

  /**
   * Tokens that a caller may see and revoke: an installer all, a user those that act for that user, another token
   * itself and those it made. By id ascending.
   */
  visibleTo(principal: Principal): TokenRecord[] {
    const own = this.get(principal.tokenId ?? '');
    if (!own) return [];
    if (roleIncludes(principal.role, 'INSTALLER')) return this.all();
    const isOwn = ({ id, user, parentId }: TokenRecord): boolean =>
      id === own.id || parentId === own.id || (own.kind === 'SESSION' && user?.id === own.user?.id);
    return this.all().filter(isOwn);
  }

  /** @throws GatewayError token_not_found (404), also for one that the caller may not see */
  requireFor(principal: Principal, id: string): TokenRecord {
    return required(this.visibleTo(principal).find((visible) => visible.id === id));
  }

  /** Returns the token that has ended. @throws GatewayError token_not_found (404), also for one that the caller may not see */
  revokeFor(principal: Principal, id: string): TokenRecord {
    const token = this.requireFor(principal, id);
    this.revoke(id);
    return token;
  }

  get(id: string): TokenRecord | undefined {
    return this.#options.store.tokens.byId(id);
  }

  /** @throws GatewayError token_not_found (404) */
  revoke(id: string): void {
    const { database, log, store } = this.#options;
    required(this.get(id));
    database.transaction(() => {
      store.tokens.remove(id);
      this.#sweepAfterCommit();
    });
    log.info('token revoked', { token_id: id });
  }

  /** Ends every token and session, or only sessions. */
  revokeAll(kinds: readonly TokenKind[]): void {
    const { database, store } = this.#options;
    database.transaction(() => {
      for (const kind of kinds) store.tokens.removeAll(kind);
      this.#sweepAfterCommit();
    });
  }

  /** Ends what acts for a user, of these kinds, except one. */
  endOf(userId: string, kinds: readonly TokenKind[], exceptId?: string): void {
    const { database, store } = this.#options;
    database.transaction(() => {
      for (const kind of kinds) store.tokens.removeOf(userId, kind, exceptId);
      this.#sweepAfterCommit();
    });
  }

  #sweepAfterCommit(): void {
    this.#options.database.afterCommit(() => this.sweep(true));
  }

  /** Announces tokens that were valid before and are no longer, or have a lower role. */
  sweep(isChanged = false): void {
    const { database, events, store } = this.#options;
    if (isChanged) this.#read.clear();
    const version = database.foreignVersion();
    const mayHaveChanged = isChanged || version !== this.#version;
    this.#version = version;
    if (!mayHaveChanged && !this.#mayHaveExpired()) return;
    const tokens = store.tokens.all();
    const valid = tokens.filter((token) => !this.isExpired(token));
    const previous = this.#known;
    this.#known = new Map(valid.map((token) => [token.id, effectiveRole(token)]));
    this.#nextExpiryMs = Math.min(...valid.map(({ expiresAtMs }) => expiresAtMs ?? Infinity));
    for (const [id, role] of previous) {
      const now = this.#known.get(id);
      if (now === undefined || ROLES.indexOf(now) < ROLES.indexOf(role))
        events.emit('token_revoked', { tokenId: id });
    }
  }

  /** Follows a token that another process has made since the last sweep, so that its end is announced, too. */
  #watch(token: TokenRecord): void {
    if (this.#known.has(token.id)) return;
    this.#known.set(token.id, effectiveRole(token));
    this.#nextExpiryMs = Math.min(this.#nextExpiryMs, token.expiresAtMs ?? Infinity);
  }

  #mayHaveExpired(): boolean {
    const { clock } = this.#options;
    return clock.isSet() && clock.wallMs() >= this.#nextExpiryMs;
  }

  #noteUse({ id, lastUsedAtMs = 0 }: TokenRecord): void {
    const { clock, limits } = this.#options;
    if (!clock.isSet() || this.#used.has(id)) return;
    const nowMs = clock.wallMs();
    if (Math.abs(nowMs - lastUsedAtMs) >= limits.lastUseIntervalMs) this.#used.set(id, nowMs);
  }

  /** Stores the noted last uses; rarely, to spare the flash card. */
  writeUses(): void {
    if (this.#used.size === 0) return;
    const { database, store } = this.#options;
    database.transaction(() => {
      for (const [id, atMs] of this.#used) store.tokens.setLastUsed(id, Math.round(atMs));
    });
    this.#used.clear();
    this.#read.clear();
  }
}

/** @throws GatewayError token_not_found (404) */
function required(token: TokenRecord | undefined): TokenRecord {
  return requireFound('token_not_found', 'There is no such token.', token);
}

// Times of tokens follow the clock. If the clock is put back and later forward again, tokens that were moved back with it, or
// made in between, move forward with it, so that no token loses time. state.db keeps by how much, because the box may lose
// its power in between.

class TokenTimes {
  readonly #options: Pick<AuthParts, 'clock' | 'database' | 'limits' | 'store'>;
  /** Within the transaction that moved tokens. */
  readonly #onMoved: () => void;
  /** Steps of the clock that are not stored yet. */
  #steps: DurationMs[] = [];

  constructor(options: Pick<AuthParts, 'clock' | 'database' | 'limits' | 'store'>, onMoved: () => void) {
    this.#options = options;
    this.#onMoved = onMoved;
  }

  /** By how much the clock is still behind after it was put back. */
  get behindMs(): DurationMs {
    return this.#options.store.behind.get()?.behindMs ?? 0;
  }

  /** Tokens made before the clock was set get the true time of their creation, and expire by it. */
  restamp(correction: StampCorrection): void {
    const { database, store } = this.#options;
    database.transaction(() => {
      for (const { id, createdAtMs } of store.tokens.all()) {
        const byMs = Math.round(correctStamp(createdAtMs, correction) - createdAtMs);
        if (byMs !== 0) store.tokens.shift(id, byMs);
      }
      this.#onMoved();
    });
  }

  /**
   * Follows a clock that may have gone ahead while nobody looked: the box was off, or the clock not set. Time that passed
   * meanwhile counts as such a step, too.
   */
  resume(): void {
    const { clock, store } = this.#options;
    const known = store.behind.get();
    if (known && clock.isSet()) this.follow(Math.max(0, clock.wallMs() - known.knownAtMs));
  }

  /** Follows a step of a clock that was set before, too. */
  follow(stepMs: DurationMs): void {
    this.#steps.push(Math.round(stepMs));
    this.settle();
  }

  /** Stores steps that the disk did not take before, and now and then what the clock shows. */
  settle(): void {
    const { clock, database, limits, store } = this.#options;
    const known = store.behind.get();
    const nowMs = Math.round(clock.wallMs());
    const isRecent = known === undefined || Math.abs(nowMs - known.knownAtMs) < limits.lastUseIntervalMs;
    if (this.#steps.length === 0 && isRecent) return;
    database.transaction(() => {
      let behindMs = known?.behindMs ?? 0;
      for (const stepMs of this.#steps) {
        if (stepMs > 0 && behindMs > 0) store.tokens.goAhead(stepMs);
        behindMs = Math.max(0, behindMs - stepMs);
      }
      store.behind.put(behindMs, nowMs);
      this.#onMoved();
    });
    this.#steps = [];
  }
}

// Secrets that authenticate: tokens for programs, a claim code for people to type.

/** 256 bits: nobody guesses it, so a plain hash is enough to store it. */
const TOKEN_BYTES = 32;
const TOKEN_PREFIX = 'gw_';

/** Crockford's base 32: no letter looks like a digit. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 60 bits; logins are throttled, so nobody tries more than some thousands a day. */
const CODE_LETTERS = 12;
const CODE_GROUP = /.{4}(?=.)/g;

export function newTokenText(random: (sizeBytes: number) => Buffer): string {
  return `${TOKEN_PREFIX}${random(TOKEN_BYTES).toString('base64url')}`;
}

/** Such as `7K2M-Q9XD-0FTB`. */
export function newClaimCode(random: (sizeBytes: number) => Buffer): string {
  const letters = [...random(CODE_LETTERS)].map((byte) => LETTERS[byte % LETTERS.length] ?? '');
  return letters.join('').replace(CODE_GROUP, '$&-');
}

/** The code as it was made, from whatever a person typed: any case, blanks, O for 0, I or L for 1. */
export function normalizeClaimCode(typed: string): string {
  const letters = typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
  return letters.replace(CODE_GROUP, '$&-');
}

export function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
