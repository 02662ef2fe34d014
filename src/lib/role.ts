/** Roles of callers (docs/interface/http.md#roles). */

/** Lowest first; a higher role includes every lower one. */
export const ROLES = ['READONLY', 'USER', 'OWNER', 'INSTALLER', 'VENDOR', 'SYSTEM'] as const;
export type Role = (typeof ROLES)[number];

/** A rule sees every declaration but those of level `system` (docs/interface/lua-rules.md#devices). */
export const RULE_ROLE: Role = 'VENDOR';

const RANK = Object.fromEntries(ROLES.map((role, rank) => [role, rank])) as Record<Role, number>;
/** A map, because it is read for every property of every device in a list. */
const ROLE_OF = new Map(ROLES.map((role) => [role.toLowerCase(), role]));

export function roleIncludes(role: Role, needed: Role): boolean {
  return RANK[role] >= RANK[needed];
}

/** Access levels of manifests are roles in lower case. */
export function roleOfAccessLevel(accessLevel: string): Role | undefined {
  return ROLE_OF.get(accessLevel) ?? ROLE_OF.get(accessLevel.toLowerCase());
}

/** The same, but an access level that is no role needs the highest role. */
export function roleNeededFor(accessLevel: string): Role {
  return roleOfAccessLevel(accessLevel) ?? 'SYSTEM';
}

/** Whether a role includes an access level of a manifest, or another role; without a level every caller passes. */
export function reaches(role: Role | undefined, needed: string | undefined): boolean {
  if (needed === undefined) return true;
  const wanted = roleOfAccessLevel(needed);
  return wanted !== undefined && role !== undefined && roleIncludes(role, wanted);
}
