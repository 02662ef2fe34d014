/**
 * Whether a manifest keeps what the profiles it lists promise, and which of its entries stand for which members
 * (docs/interface/blueprints.md#profiles).
 */
import { enumItems } from '../source/enums.ts';
import { canonicalUnit } from '../source/units.ts';
import type { EnumValue } from '../manifest.ts';
import { listOf, mapOf, sectionOf, textOf } from '../source/tree.ts';
import type { YamlMap } from '../source/yaml.ts';
import type { ManifestContext } from '../validation/context.ts';
import type { Problems } from '../validation/problems.ts';
import { listed as listedTexts } from '../validation/shape.ts';
import type { DeclaredMember, MemberSection, ProfileCatalogue } from './catalogue.ts';

/** An entry of a manifest as far as profiles care. */
export interface ProfileEntry {
  section: MemberSection;
  name: string;
  /** References `profile.member` that the author wrote on it. */
  implements: string[];
  source: YamlMap;
}

export function entriesOf(manifest: YamlMap): ProfileEntry[] {
  return (['properties', 'telemetry', 'commands'] as const).flatMap((section) =>
    [...sectionOf(manifest.get(section))].map(([key, value]) => ({
      section,
      name: String(key),
      implements: listOf(mapOf(value).get('implements')),
      source: mapOf(value),
    })),
  );
}

/**
 * The entries that stand for a member of the listed profile: those that refer to it through a profile that contains
 * it, else the one of its name (docs/interface/blueprints.md#profiles). Which containing profile the author wrote
 * does not matter: published blueprints list a profile and one of its parts, and refer to the member once.
 */
export function satisfyingEntries(
  catalogue: ProfileCatalogue,
  listed: string,
  member: DeclaredMember,
  entries: readonly ProfileEntry[],
): ProfileEntry[] {
  const closure = catalogue.closure(listed);
  const refers = (reference: string): boolean => {
    if (!reference.endsWith(`.${member.name}`)) return false;
    const profile = reference.slice(0, -member.name.length - 1);
    return closure.includes(profile) || catalogue.closure(profile).includes(member.declaredBy);
  };
  const candidates = entries.filter((entry) => entry.section === member.section);
  const referring = candidates.filter((entry) => entry.implements.some(refers));
  return referring.length > 0 ? referring : candidates.filter((entry) => entry.name === member.name);
}

interface Conformance {
  /** The revision of the profiles that the manifest was judged by. */
  catalogue: ProfileCatalogue;
  problems: string[];
}

/** Judges one listed profile; `path` is where the manifest lists it. */
export function conformance(
  catalogue: ProfileCatalogue,
  listed: string,
  path: string,
  entries: readonly ProfileEntry[],
): Conformance {
  const judged = catalogue.revisions.map((revision) => ({
    catalogue: revision,
    problems: membersProblems(revision, listed, path, entries),
  }));
  // If no revision fits, the problems with the latest one are reported.
  return judged.find(({ problems }) => problems.length === 0) ?? judged[0] ?? { catalogue, problems: [] };
}

const NOUN: Record<MemberSection, string> = {
  properties: 'property',
  telemetry: 'telemetry',
  commands: 'command',
};

function membersProblems(
  catalogue: ProfileCatalogue,
  listed: string,
  path: string,
  entries: readonly ProfileEntry[],
): string[] {
  return catalogue.members(listed).flatMap((member) => {
    const satisfying = satisfyingEntries(catalogue, listed, member, entries);
    if (satisfying.length > 0) return satisfying.flatMap((entry) => mismatches(entry, member));
    const origin = member.declaredBy === listed ? '' : ` (from ${member.declaredBy})`;
    return [`${path}: profile "${listed}" requires ${NOUN[member.section]} "${member.name}"${origin}`];
  });
}

function mismatches(entry: ProfileEntry, member: DeclaredMember): string[] {
  const path = `${entry.section}.${entry.name}`;
  if (member.section === 'commands') return argumentMismatches(path, entry.source, member);
  const problems: string[] = [];
  const type = textOf(entry.source.get('type'));
  const unit = unitOf(entry.source);
  // An entry without a readable type has its own problem.
  if (type === undefined) return [];
  if (type !== member.type)
    problems.push(
      `${path}: type ${type} does not match ${member.type ?? 'none'} required by ${member.declaredBy}`,
    );
  if (unit !== member.unit)
    problems.push(
      `${path}: unit ${unit ?? 'none'} does not match ${member.unit ?? 'none'} required by ${member.declaredBy}`,
    );
  const difference = enumDifference(
    member.enum ?? [],
    enumItems(entry.source.get('enum') ?? null, type).map((item) => item.value),
  );
  if (difference !== '')
    problems.push(`${path}: enum values differ from ${member.declaredBy}: ${difference}`);
  return problems;
}

function argumentMismatches(path: string, command: YamlMap, member: DeclaredMember): string[] {
  const own = mapOf(command.get('arguments'));
  const wanted = member.arguments ?? {};
  const problems: string[] = [];
  for (const [name, argument] of Object.entries(wanted)) {
    const entry = own.get(name);
    const here = `${path}.arguments.${name}`;
    if (!(entry instanceof Map)) problems.push(`${here}: required by ${member.declaredBy}`);
    else {
      const type = textOf(entry.get('type')) ?? 'none';
      if (type !== argument.type)
        problems.push(
          `${here}: type ${type} does not match ${argument.type} required by ${member.declaredBy}`,
        );
      if (argument.required && entry.get('required') !== true)
        problems.push(`${here}: must be required as in ${member.declaredBy}`);
    }
  }
  for (const [key, entry] of own)
    if (!Object.hasOwn(wanted, String(key)) && mapOf(entry).get('required') === true)
      problems.push(
        `${path}.arguments.${String(key)}: must not be required, ${member.declaredBy} has no such argument`,
      );
  return problems;
}

function unitOf(source: YamlMap): string | undefined {
  const unit = textOf(source.get('unit'));
  return unit === undefined ? undefined : canonicalUnit(unit);
}

function enumDifference(wanted: EnumValue[], given: EnumValue[]): string {
  const missing = wanted.filter((value) => !given.includes(value));
  const extra = given.filter((value) => !wanted.includes(value));
  return [
    ...(missing.length > 0 ? [`missing ${missing.join(', ')}`] : []),
    ...(extra.length > 0 ? [`extra ${extra.join(', ')}`] : []),
  ].join('; ');
}

/** Checks listed profiles and references of a 3.0 manifest. */
export function checkProfiles(context: ManifestContext, catalogue: ProfileCatalogue): void {
  const { manifest, problems, lenient } = context;
  const entries = entriesOf(manifest);
  const known: string[] = [];
  let isComplete = true;
  for (const field of ['implements', 'implements_draft']) {
    for (const [path, id] of listedTexts(field, manifest.get(field))) {
      const profile = catalogue.revisions
        .map((revision) => revision.get(id))
        .find((found) => found !== undefined);
      if (profile === undefined) lenient.add(path, `unknown profile "${id}"`);
      else if (profile.draft && field === 'implements')
        problems.add(path, `profile "${id}" is a draft; list it in implements_draft`);
      else lenient.addAll(conformance(catalogue, id, path, entries).problems);
      if (profile !== undefined) known.push(id);
      else isComplete = false;
    }
  }
  // An unknown profile may implement others, so references cannot be judged strictly.
  checkReferences(context, catalogue, known, isComplete ? problems : lenient);
}

function checkReferences(
  context: ManifestContext,
  catalogue: ProfileCatalogue,
  known: string[],
  unlisted: Problems,
): void {
  const covered = new Set(
    known.flatMap((id) => catalogue.revisions.flatMap((revision) => revision.closure(id))),
  );
  for (const section of ['properties', 'telemetry', 'commands']) {
    for (const [key, value] of sectionOf(context.manifest.get(section))) {
      const references = listedTexts(`${section}.${String(key)}.implements`, mapOf(value).get('implements'));
      for (const [path, reference] of references) {
        const resolved = catalogue.resolveReference(reference);
        if (resolved === undefined) context.lenient.add(path, `unknown profile attribute "${reference}"`);
        else if (!covered.has(resolved.profile))
          unlisted.add(path, `profile "${resolved.profile}" is not listed in implements`);
      }
    }
  }
}
