/** Data that the checks of one manifest share. */
import type { ArchiveFiles } from '../source/archive.ts';
import { resolveSchema } from '../source/schemas.ts';
import { namesOf } from '../source/tree.ts';
import type { YamlMap } from '../source/yaml.ts';
import type { Problems } from './problems.ts';
import type { Scope } from './shape.ts';

export interface ManifestContext extends Scope {
  manifest: YamlMap;
  /** Problems that the lenient check accepts; the same object as `problems` in the strict check. */
  lenient: Problems;
  files: ArchiveFiles;
  /** Codes of the manifest's own units. */
  ownUnits: ReadonlySet<string>;
  telemetryNames: ReadonlySet<string>;
  commandNames: ReadonlySet<string>;
  commandGroups: ReadonlySet<string>;
}

export function createContext(
  manifest: YamlMap,
  files: ArchiveFiles,
  problems: Problems,
  lenient: Problems,
): ManifestContext {
  return {
    lenient,
    manifest,
    files,
    problems,
    isOld: manifest.get('blueprint_spec') === 'device/1.0',
    ownUnits: namesOf(manifest.get('units')),
    telemetryNames: namesOf(manifest.get('telemetry')),
    commandNames: namesOf(manifest.get('commands')),
    commandGroups: namesOf(manifest.get('command_groups')),
  };
}

/** Reports what is wrong with a `json_schema` field of an entry of the given type. */
export function checkSchemaField(context: ManifestContext, path: string, entry: YamlMap): void {
  if (context.isOld) return;
  const schema = entry.get('json_schema');
  const isJson = entry.get('type') === 'json';
  if (schema === undefined) {
    if (isJson) context.problems.add(`${path}.json_schema`, 'required for type json');
    return;
  }
  if (!isJson) {
    context.problems.add(`${path}.json_schema`, 'allowed only for type json');
    return;
  }
  if (typeof schema !== 'string') return;
  const { problem } = resolveSchema(context.files, schema);
  if (problem !== undefined) context.problems.add(`${path}.json_schema`, problem);
}
