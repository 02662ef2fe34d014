/** Who calls: the answer of the `authenticate` hook. Roles: http-contract.md section 3. */

export const ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER', 'VENDOR', 'SYSTEM'] as const;

/** Lowest first; a higher role includes every lower one. */
export type Role = (typeof ROLES)[number];

export interface Principal {
  role: Role;
  /** What the call is recorded under: a token, a user, a rule, a device's script, or the anonymous role. */
  origin: { kind: 'token' | 'user' | 'rule' | 'device' | 'anonymous'; id: string; name: string };
  /** Key of the per-caller rate limit. */
  rateKey: string;
}

export function roleIncludes(role: Role, needed: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(needed);
}

/** Access levels of manifests are roles in lower case. */
export function roleOfAccessLevel(accessLevel: string): Role | undefined {
  return ROLES.find((role) => role === accessLevel.toUpperCase());
}
