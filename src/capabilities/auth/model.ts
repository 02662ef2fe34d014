/** Users, access tokens and who may do what with them. Source: http-contract.md 2 and 3; docs/security.md. */
import { type Principal, type Role, roleIncludes } from '../../platform/http/index.ts';

/** VENDOR and SYSTEM are never given to anybody. */
export const ISSUABLE_ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER'] as const satisfies readonly Role[];
export type IssuableRole = (typeof ISSUABLE_ROLES)[number];

export interface User {
  readonly id: string;
  /** Unique, whatever its case. */
  readonly name: string;
  readonly role: IssuableRole;
  /** False after access was reset: no login until the box is claimed again or a password is set. */
  readonly hasPassword: boolean;
  readonly createdAtMs: number;
}

/** TOKEN: made by a person or program for a purpose. SESSION: made by a login. */
export const TOKEN_KINDS = ['TOKEN', 'SESSION'] as const;
export type TokenKind = (typeof TOKEN_KINDS)[number];

export interface TokenRecord {
  readonly id: string;
  readonly kind: TokenKind;
  readonly name: string;
  readonly role: IssuableRole;
  /** The user it acts for; absent when the local command made it. It never exceeds the user's role. */
  readonly user?: { readonly id: string; readonly name: string; readonly role: IssuableRole };
  /** The token that made it; it ends with that one. */
  readonly parentId?: string;
  readonly createdAtMs: number;
  /** Absent: valid until revoked. */
  readonly expiresAtMs?: number;
  /** Within an hour. */
  readonly lastUsedAtMs?: number;
}

/** A token that was just made: the only time its text is known. */
export interface NewToken {
  readonly record: TokenRecord;
  readonly text: string;
}

export interface AuthEvents {
  /** What is open under this key must end: its token was revoked, has expired, or has a lower role now. */
  token_revoked: { rateKey: string };
}

export function isIssuable(role: Role): role is IssuableRole {
  return roleIncludes('INSTALLER', role);
}

/** The role of a token is bounded by that of its user, at any time. */
export function effectiveRole({ role, user }: Pick<TokenRecord, 'role' | 'user'>): IssuableRole {
  return user && !roleIncludes(user.role, role) ? user.role : role;
}

/** The key under which calls of a token are counted and its streams are found. */
export function rateKeyOf(tokenId: string): string {
  return `token:${tokenId}`;
}

export function tokenIdOf(principal: Principal): string | undefined {
  const [kind, id] = principal.rateKey.split(':');
  return kind === 'token' ? id : undefined;
}

export function principalOf(token: TokenRecord): Principal {
  const { id, kind, name, user } = token;
  return {
    role: effectiveRole(token),
    origin:
      kind === 'SESSION' && user
        ? { kind: 'user', id: user.id, name: user.name }
        : { kind: 'token', id, name },
    rateKey: rateKeyOf(id),
  };
}
