/**
 * Users, access tokens and who may do what with them. Source: docs/interface/http.md#access-tokens and
 * docs/interface/http.md#roles; docs/security.md.
 */
import { type Principal } from '../../platform/http/index.ts';
import { type Role, roleIncludes } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';

/** Roles that people and tokens can have; VENDOR and SYSTEM are never given to anybody. */
export const ISSUABLE_ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER'] as const satisfies readonly Role[];
/** A role that somebody can have. */
export type IssuableRole = (typeof ISSUABLE_ROLES)[number];

export interface User {
  readonly id: string;
  /** Unique, whatever its case. */
  readonly name: string;
  readonly role: IssuableRole;
  /** False after access was reset: no login until the box is claimed again or a password is set. */
  readonly hasPassword: boolean;
  readonly createdAtMs: EpochMs;
}

/** TOKEN: made by a person or program for a purpose. SESSION: made by a login. */
export const TOKEN_KINDS = ['TOKEN', 'SESSION'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

/** An access token or session, without its text. */
export interface TokenRecord {
  readonly id: string;
  readonly kind: TokenKind;
  readonly name: string;
  readonly role: IssuableRole;
  /** The user that it acts for, whose role limits it; absent when the local command made it. */
  readonly user?: { readonly id: string; readonly name: string; readonly role: IssuableRole };
  /** The token that made it, and with which it ends. */
  readonly parentId?: string;
  readonly createdAtMs: EpochMs;
  /** Absent: valid until revoked. */
  readonly expiresAtMs?: EpochMs;
  /** Accurate to an hour. */
  readonly lastUsedAtMs?: EpochMs;
}

/** A token that was just made: the only time its text is known. */
export interface NewToken {
  readonly record: TokenRecord;
  readonly text: string;
}

export interface AuthEvents {
  /** The token was revoked, has expired, or has a lower role now: its open connections must end. */
  token_revoked: { tokenId: string };
}

/** The role of a token is bounded by that of its user, at any time. */
export function effectiveRole({ role, user }: Pick<TokenRecord, 'role' | 'user'>): IssuableRole {
  return user && !roleIncludes(user.role, role) ? user.role : role;
}

/**
 * The person behind a token, for limits: its user, or else the first token of the chain that made it. So making more tokens
 * gives nobody a larger share.
 */
export function personOf(token: TokenRecord, tokenOf: (id: string) => TokenRecord | undefined): string {
  let first: TokenRecord = token;
  while (!first.user && first.parentId !== undefined) {
    const maker = tokenOf(first.parentId);
    if (!maker) break;
    first = maker;
  }
  return first.user ? `user:${first.user.id}` : `token:${first.id}`;
}

/** @param person as `personOf` returns it */
export function principalOf(token: TokenRecord, person: string): Principal {
  const { id, kind, name, user } = token;
  return {
    role: effectiveRole(token),
    origin:
      kind === 'SESSION' && user
        ? { kind: 'user', id: user.id, name: user.name }
        : { kind: 'token', id, name },
    // A token that floods leaves the sessions of its person alone.
    rateKey: kind === 'SESSION' ? person : `${person} tokens`,
    tokenId: id,
  };
}
