/** Aliases of properties, telemetry attributes and commands (docs/interface/blueprints.md#aliases). */
import type { YamlMap } from '../source/yaml.ts';
import { listed, type Scope } from './shape.ts';

const ALIAS = /^[a-zA-Z0-9_]+$/;

/**
 * Aliases of one entry must be well formed and unlike every name in `taken`: declared and reserved names of the
 * section and the aliases of the entries before, to which they are added.
 */
export function checkAliases(context: Scope, path: string, entry: YamlMap, taken: Set<string>): void {
  for (const [here, alias] of listed(`${path}.aliases`, entry.get('aliases'))) {
    if (!ALIAS.test(alias)) context.problems.add(here, `invalid alias "${alias}"`);
    else if (taken.has(alias)) context.problems.add(here, `name "${alias}" is already used`);
    taken.add(alias);
  }
}

/** Names that no alias of the section may have. */
export function takenNames(section: YamlMap, reserved: readonly string[]): Set<string> {
  return new Set([...[...section.keys()].map(String), ...reserved]);
}
