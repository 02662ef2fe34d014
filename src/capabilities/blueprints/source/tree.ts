/** Small readers of authored values and builders of compiled ones. */
import type { YamlMap, YamlValue } from './yaml.ts';

/** The map, or an empty one when the field is absent (or wrong, which validation has reported). */
export function mapOf(value: YamlValue | undefined): YamlMap {
  return value instanceof Map ? value : new Map();
}

/** A map from names to entries, without dot fields: those are the author's notes, not entries. */
export function sectionOf(value: YamlValue | undefined): YamlMap {
  return new Map([...mapOf(value)].filter(([key]) => !String(key).startsWith('.')));
}

/** Names of the entries of a section. */
export function namesOf(value: YamlValue | undefined): Set<string> {
  return new Set([...sectionOf(value).keys()].map(String));
}

/** A field that may be one text or a list of texts, as a list. */
export function listOf(value: YamlValue | undefined): string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The map without fields whose value is null, in depth; values of enums are kept, their texts may be absent. */
export function withoutNulls(map: YamlMap): YamlMap {
  return new Map(
    [...map].flatMap(([key, value]) => {
      if (value === null) return [];
      return [[key, value instanceof Map && key !== 'enum' ? withoutNulls(value) : value] as const];
    }),
  );
}

export function textOf(value: YamlValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/**
 * A map from names of the manifest to entries. It has no prototype, so that a name such as `constructor`
 * that a caller asks for is simply absent.
 */
export function recordOf<Value>(entries: Iterable<readonly [string, Value]>): Record<string, Value> {
  const record = Object.create(null) as Record<string, Value>;
  for (const [name, value] of entries) record[name] = value;
  return record;
}

/** The result of `compile` for each entry of a section, by name. */
export function compiledEntries<Compiled>(
  section: YamlMap,
  compile: (entry: YamlMap, name: string) => Compiled,
): Record<string, Compiled> {
  return recordOf([...section].map(([key, entry]) => [String(key), compile(mapOf(entry), String(key))]));
}
