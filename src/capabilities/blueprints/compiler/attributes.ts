/** Properties and telemetry attributes of a compiled manifest (blueprint-manifest.md section 15). */
import { bothEnumForms, enumItems, withColors } from './enums.ts';
import type { AccessLevel, CompiledAttribute } from '../manifest.ts';
import { satisfyingEntries, type MemberSection, type ProfileCatalogue } from '../profiles/catalogue.ts';
import { listOf, mapOf, recordOf, textOf } from '../source/tree.ts';
import { parseUnit } from './units.ts';
import { plainOf, type YamlMap } from '../source/yaml.ts';

export interface SectionContext {
  profiles: ProfileCatalogue;
  /** Profile ids the manifest lists, drafts included. */
  listed: string[];
  schemaOf: (reference: string) => unknown;
  isOld: boolean;
}

export function compileAttributes(
  section: 'properties' | 'telemetry',
  source: YamlMap,
  context: SectionContext,
): Record<string, CompiledAttribute> {
  const filled = fillProfiles(section, source, context);
  return recordOf(
    [...source].map(([key, value]) => {
      const name = String(key);
      const entry = mapOf(value);
      const attribute = {
        ...(plainOf(entry) as CompiledAttribute),
        access_level: (textOf(entry.get('access_level')) ?? 'readonly') as AccessLevel,
        implements: filled.get(name)?.implements ?? [],
        aliases: filled.get(name)?.aliases ?? [],
      };
      const items = enumItems(entry.get('enum') ?? null, entry.get('type'));
      if (items.length > 0)
        Object.assign(
          attribute,
          bothEnumForms(section === 'telemetry' && !context.isOld ? withColors(items) : items),
        );
      if (!context.isOld) normaliseUnits(attribute);
      const schema = entry.get('json_schema');
      if (typeof schema === 'string') attribute.json_schema = context.schemaOf(schema);
      return [name, attribute] as const;
    }),
  );
}

function normaliseUnits(attribute: CompiledAttribute): void {
  if (attribute.unit !== undefined) attribute.unit = canonical(attribute.unit);
  if (attribute.auto_scale !== undefined) attribute.auto_scale = attribute.auto_scale.map(canonical);
}

function canonical(code: string): string {
  return parseUnit(code)?.code ?? code;
}

/**
 * `implements` and `aliases` of every entry of a section, with what the listed profiles add (changes 10 to
 * 12): references to each member the entry stands for, and the member's name as alias where it is free.
 */
export function fillProfiles(
  section: MemberSection,
  source: YamlMap,
  context: Pick<SectionContext, 'profiles' | 'listed'>,
): Map<string, { implements: string[]; aliases: string[] }> {
  const entries = [...source].map(([key, value]) => ({
    name: String(key),
    implements: listOf(mapOf(value).get('implements')),
    aliases: listOf(mapOf(value).get('aliases')),
    added: new Set<string>(),
  }));
  const taken = new Set(entries.flatMap((entry) => [entry.name, ...entry.aliases]));
  for (const listed of context.listed) {
    for (const member of context.profiles.members(listed)) {
      if (member.section !== section) continue;
      for (const entry of satisfyingEntries(context.profiles, listed, member, entries)) {
        entry.added.add(`${member.declaredBy}.${member.name}`);
        for (const other of context.listed)
          if (context.profiles.closure(other).includes(member.declaredBy))
            entry.added.add(`${other}.${member.name}`);
        if (taken.has(member.name)) continue;
        taken.add(member.name);
        entry.aliases.push(member.name);
      }
    }
  }
  return new Map(
    entries.map(({ name, added, aliases, ...entry }) => [
      name,
      { implements: [...new Set([...entry.implements, ...[...added].sort()])], aliases },
    ]),
  );
}
