/** Access tokens and who may do what with them. Source: http-contract.md 2 and 3. */
import { type Principal, type Role, roleIncludes } from '../../platform/http/index.ts';

/** VENDOR and SYSTEM are never given to anybody. */
export const ISSUABLE_ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER'] as const satisfies readonly Role[];
export type IssuableRole = (typeof ISSUABLE_ROLES)[number];

export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  readonly role: IssuableRole;
  readonly createdAtMs: number;
  /** Absent: valid until revoked. */
  readonly expiresAtMs?: number;
}

/** A token that was just made: the only time its text is known. */
export interface NewToken {
  readonly record: TokenRecord;
  readonly text: string;
}

export interface AuthEvents {
  /** Nobody may go on with what was opened under this key. */
  token_revoked: { rateKey: string };
}

export function isIssuable(role: Role): role is IssuableRole {
  return roleIncludes('INSTALLER', role);
}

/** The key under which calls of a token are counted and its streams are found. */
export function rateKeyOf(tokenId: string): string {
  return `token:${tokenId}`;
}

export function principalOf({ id, name, role }: TokenRecord): Principal {
  return { role, origin: { kind: 'token', id, name }, rateKey: rateKeyOf(id) };
}
