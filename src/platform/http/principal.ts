/** Who calls: the answer of the `authenticate` hook. Roles: docs/interface/http.md#roles. */

export const ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER', 'VENDOR', 'SYSTEM'] as const;

/** Lowest first; a higher role includes every lower one. */
export type Role = (typeof ROLES)[number];

export interface Principal {
  role: Role;
  /** What the call is recorded under: a token, a user, a rule, a device's script, or the anonymous role. */
  origin: { kind: 'token' | 'user' | 'rule' | 'device' | 'anonymous'; id: string; name: string };
  /** Key of what is limited per caller: one for a person, whatever the number of tokens. */
  rateKey: string;
  /** The token or session that the call came with; absent without one. */
  tokenId?: string;
}

const RANK = Object.fromEntries(ROLES.map((role, rank) => [role, rank])) as Record<Role, number>;
/** Asked for every property of every device in a list. */
const ROLE_OF = new Map(ROLES.map((role) => [role.toLowerCase(), role]));

export function roleIncludes(role: Role, needed: Role): boolean {
  return RANK[role] >= RANK[needed];
}

/** Access levels of manifests are roles in lower case. */
export function roleOfAccessLevel(accessLevel: string): Role | undefined {
  return ROLE_OF.get(accessLevel) ?? ROLE_OF.get(accessLevel.toLowerCase());
}
