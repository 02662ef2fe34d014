/** Blueprints that come with the gateway, compiled from their sources under `built-in/`. */
import { packagePath, readTree } from '../../platform/files/index.ts';
import { compileManifest } from './compiler/compile.ts';
import type { CompiledManifest } from './manifest.ts';
import { BUILT_IN_BLUEPRINTS, type BuiltInBlueprint } from './model.ts';
import { ProfileCatalogue } from './profiles/catalogue.ts';
import { parseYaml } from './source/yaml.ts';

const BUILT_IN_DIR = ['src', 'capabilities', 'blueprints', 'built-in'] as const;

export interface LoadedBlueprint extends BuiltInBlueprint {
  manifest: CompiledManifest;
}

/** Files of a built-in blueprint, as an upload of it would hold them. */
export function builtInFiles(name: string): Map<string, Buffer> {
  return readTree(packagePath(...BUILT_IN_DIR, 'blueprints', name));
}

/** Reads and compiles all. A fault in one is our own and stops the start. */
export function loadBuiltInBlueprints(): LoadedBlueprint[] {
  const profiles = new ProfileCatalogue([]);
  return BUILT_IN_BLUEPRINTS.map((blueprint) => {
    const source = builtInFiles(blueprint.name).get('manifest.yml')?.toString('utf8') ?? '';
    const { value, problems } = parseYaml(source, 'manifest.yml');
    if (problems.length > 0 || !(value instanceof Map))
      throw new Error(`the built-in blueprint ${blueprint.name} is invalid: ${problems.join('; ')}`);
    return { ...blueprint, manifest: compileManifest(value, { profiles, schemaOf: () => undefined }) };
  });
}
