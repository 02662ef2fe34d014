/**
 * Device profiles: named sets of attributes and commands that a device may promise to have. Resolution as in
 * blueprint-manifest.md section 14.3.
 */
import type { EnumValue } from '../manifest.ts';

export type MemberSection = 'properties' | 'telemetry' | 'commands';

/** One attribute or command that a profile asks for; only what must match, presentation left out. */
export interface ProfileMember {
  section: MemberSection;
  name: string;
  /** Attributes only. */
  type?: string;
  /** Canonical code. */
  unit?: string;
  enum?: EnumValue[];
  /** Commands only: argument name → what must match. */
  arguments?: Record<string, { type: string; required: boolean }>;
}

export interface Profile {
  /** Path below the profile tree with dots: `lib.energy.battery.soc`. */
  id: string;
  draft: boolean;
  /** Listed ids, not their closure. */
  implements: string[];
  members: ProfileMember[];
}

/** A member and the profile that declares it. */
export interface DeclaredMember extends ProfileMember {
  declaredBy: string;
}

/** All profiles of the gateway, resolved on demand. */
export class ProfileCatalogue {
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #closures = new Map<string, string[]>();

  constructor(profiles: Iterable<Profile>) {
    this.#profiles = new Map([...profiles].map((profile) => [profile.id, profile]));
  }

  get(id: string): Profile | undefined {
    return this.#profiles.get(id);
  }

  ids(): string[] {
    return [...this.#profiles.keys()].sort();
  }

  /** The profile and everything it implements, directly or not; unknown ids and repetitions left out. */
  closure(id: string): string[] {
    const known = this.#closures.get(id);
    if (known) return known;
    const found = new Set<string>();
    const pending = [id];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const profile = this.#profiles.get(next);
      if (profile === undefined || found.has(next)) continue;
      found.add(next);
      pending.push(...profile.implements.toReversed());
    }
    const closure = [...found];
    this.#closures.set(id, closure);
    return closure;
  }

  /** Every member of the profile's closure. */
  members(id: string): DeclaredMember[] {
    return this.closure(id).flatMap((declaredBy) =>
      (this.#profiles.get(declaredBy)?.members ?? []).map((member) => ({ ...member, declaredBy })),
    );
  }

  /** Splits `profile.id.member` at its last dot; `undefined` when no such profile or member exists. */
  resolveReference(reference: string): { profile: string; member: string } | undefined {
    const dot = reference.lastIndexOf('.');
    if (dot <= 0) return undefined;
    const profile = reference.slice(0, dot);
    const member = reference.slice(dot + 1);
    return this.members(profile).some((candidate) => candidate.name === member)
      ? { profile, member }
      : undefined;
  }
}

/** An entry of a manifest as far as profiles care. */
export interface ProfileEntry {
  name: string;
  /** References `profile.member` the author wrote on it. */
  implements: string[];
}

/**
 * The entry that stands for a member of the listed profile: of the same name, or one that refers to the
 * member through a profile of the closure (section 14.3, rule 4). A reference wins over the name.
 */
export function satisfyingEntries<Entry extends ProfileEntry>(
  catalogue: ProfileCatalogue,
  listed: string,
  member: DeclaredMember,
  entries: readonly Entry[],
): Entry[] {
  const references = new Set(catalogue.closure(listed).map((profile) => `${profile}.${member.name}`));
  const referring = entries.filter((entry) => entry.implements.some((name) => references.has(name)));
  if (referring.length > 0) return referring;
  return entries.filter((entry) => entry.name === member.name);
}
