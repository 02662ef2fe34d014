/**
 * Device profiles: named sets of attributes and commands that a device may promise to have. Resolution as in
 * docs/interface/blueprints.md#profiles.
 */
import type { EnumValue } from '../manifest.ts';

export type MemberSection = 'properties' | 'telemetry' | 'commands';

/** An attribute or command that a profile requires: only the parts that must match. */
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
  /**
   * The same ids with the content they had before an incompatible change. Published blueprints were written
   * for either, so conforming to one of all revisions is enough.
   */
  readonly earlier: ProfileCatalogue | undefined;
  readonly #profiles: ReadonlyMap<string, Profile>;
  readonly #closures = new Map<string, string[]>();
  readonly #members = new Map<string, DeclaredMember[]>();

  constructor(profiles: Iterable<Profile>, earlier?: ProfileCatalogue) {
    this.#profiles = new Map([...profiles].map((profile) => [profile.id, profile]));
    this.earlier = earlier;
  }

  /** This one and those before it, latest first. */
  get revisions(): ProfileCatalogue[] {
    return [this, ...(this.earlier?.revisions ?? [])];
  }

  get(id: string): Profile | undefined {
    return this.#profiles.get(id);
  }

  /** The profile and everything it implements, directly or not; unknown ids and repetitions left out. */
  closure(id: string): string[] {
    return this.#closures.getOrInsertComputed(id, () => {
      const found = new Set<string>();
      const pending = [id];
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        const profile = this.#profiles.get(next);
        if (profile === undefined || found.has(next)) continue;
        found.add(next);
        pending.push(...profile.implements.toReversed());
      }
      return [...found];
    });
  }

  /** Every member of the profile's closure. */
  members(id: string): DeclaredMember[] {
    return this.#members.getOrInsertComputed(id, () =>
      this.closure(id).flatMap((declaredBy) =>
        (this.#profiles.get(declaredBy)?.members ?? []).map((member) => ({ ...member, declaredBy })),
      ),
    );
  }

  /** Splits `profile.id.member` at its last dot; undefined when no such profile or member exists. */
  resolveReference(reference: string): { profile: string; member: string } | undefined {
    const dot = reference.lastIndexOf('.');
    if (dot <= 0) return undefined;
    const profile = reference.slice(0, dot);
    const member = reference.slice(dot + 1);
    const exists = this.members(profile).some((candidate) => candidate.name === member);
    return exists ? { profile, member } : this.earlier?.resolveReference(reference);
  }
}
