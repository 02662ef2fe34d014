/** Properties and telemetry attributes of a compiled manifest (docs/interface/blueprints.md#compiled). */
import { bothEnumForms, enumItems, withColors } from '../source/enums.ts';
import type { AccessLevel, CompiledAttribute } from '../manifest.ts';
import type { MemberSection, ProfileCatalogue } from '../profiles/catalogue.ts';
import { conformance, satisfyingEntries, type ProfileEntry } from '../profiles/conformance.ts';
import { compiledEntries, listOf, textOf } from '../source/tree.ts';
import { parseUnit } from '../source/units.ts';
import { plainOf, type YamlMap } from '../source/yaml.ts';

/** A profile that the manifest lists, and the revision of the profiles that it keeps. */
interface ListedProfile {
  id: string;
  catalogue: ProfileCatalogue;
}

export interface SectionContext {
  /** Drafts included. */
  listed: ListedProfile[];
  entries: ProfileEntry[];
  schemaOf: (reference: string) => unknown;
  /** Codes of the manifest's own units, which mean what the author says. */
  ownUnits: ReadonlySet<string>;
  isOld: boolean;
}

export function compileAttributes(
  section: 'properties' | 'telemetry',
  source: YamlMap,
  context: SectionContext,
): Record<string, CompiledAttribute> {
  const filled = fillProfiles(section, source, context);
  return compiledEntries(source, (entry, name) => {
    const attribute = {
      ...(plainOf(entry) as CompiledAttribute),
      access_level: (textOf(entry.get('access_level')) ?? 'readonly') as AccessLevel,
      ...filled.get(name),
    };
    const items = enumItems(entry.get('enum') ?? null, entry.get('type'));
    if (items.length > 0)
      Object.assign(
        attribute,
        bothEnumForms(section === 'telemetry' && !context.isOld ? withColors(items) : items),
      );
    if (!context.isOld) normaliseUnits(attribute, context.ownUnits);
    const schema = entry.get('json_schema');
    if (typeof schema === 'string') attribute.json_schema = context.schemaOf(schema);
    return attribute;
  });
}

function normaliseUnits(attribute: CompiledAttribute, ownUnits: ReadonlySet<string>): void {
  const canonical = (code: string): string => (ownUnits.has(code) ? code : (parseUnit(code)?.code ?? code));
  if (attribute.unit !== undefined) attribute.unit = canonical(attribute.unit);
  if (attribute.auto_scale !== undefined) attribute.auto_scale = attribute.auto_scale.map(canonical);
}

/** What the manifest lists, each with the revision it conforms to. */
export function listedProfiles(
  catalogue: ProfileCatalogue,
  ids: readonly string[],
  entries: readonly ProfileEntry[],
): ListedProfile[] {
  return [...new Set(ids)].map((id) => ({
    id,
    catalogue: conformance(catalogue, id, '', entries).catalogue,
  }));
}

/**
 * `implements` and `aliases` of every entry of a section, with what the listed profiles add: references to each member the entry stands for, and the member's name as alias where it is free.
 */
export function fillProfiles(
  section: MemberSection,
  source: YamlMap,
  context: Pick<SectionContext, 'listed' | 'entries'>,
): Map<string, { implements: string[]; aliases: string[] }> {
  const entries = context.entries.filter((entry) => entry.section === section);
  const added = new Map(entries.map((entry) => [entry.name, new Set<string>()]));
  const aliases = new Map(entries.map((entry) => [entry.name, listOf(entry.source.get('aliases'))]));
  const taken = new Set([...[...source.keys()].map(String), ...[...aliases.values()].flat()]);
  for (const { id, catalogue } of context.listed) {
    for (const member of catalogue.members(id)) {
      if (member.section !== section) continue;
      const references = [
        `${member.declaredBy}.${member.name}`,
        ...context.listed
          .filter((other) => other.catalogue.closure(other.id).includes(member.declaredBy))
          .map((other) => `${other.id}.${member.name}`),
      ];
      for (const entry of satisfyingEntries(catalogue, id, member, entries)) {
        for (const reference of references) added.get(entry.name)?.add(reference);
        if (taken.has(member.name)) continue;
        taken.add(member.name);
        aliases.get(entry.name)?.push(member.name);
      }
    }
  }
  return new Map(
    entries.map((entry) => [
      entry.name,
      {
        implements: [...new Set([...entry.implements, ...[...(added.get(entry.name) ?? [])].sort()])],
        aliases: aliases.get(entry.name) ?? [],
      },
    ]),
  );
}
