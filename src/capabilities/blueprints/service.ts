/** The use cases of blueprints. */
import { notFound } from '../../lib/errors.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { loadBuiltInBlueprints } from './built-in.ts';
import type { CompiledManifest } from './manifest.ts';
import {
  BUILT_IN_BLUEPRINTS,
  BUILT_IN_IDS,
  BUILT_IN_NAMESPACE,
  BUILT_IN_TAG,
  type Blueprint,
  type Blueprints,
} from './model.ts';
import { createBlueprintStore } from './store.ts';

export interface BlueprintOptions {
  /** state.db */
  database: Database;
  clock: Clock;
  log: Log;
  newId: () => string;
}

export interface BlueprintService extends Blueprints {
  /** Writes the built-in blueprints, or replaces those that this version of the program changed. Call at start. */
  ensureBuiltIn(): void;
  /** @throws GatewayError blueprint_not_found (404) */
  requireByName(namespace: string, name: string, tag: string): Blueprint;
}

export function createBlueprints(options: BlueprintOptions): BlueprintService {
  const { database, clock, log } = options;
  const store = createBlueprintStore(database);
  const manifests = new Map<string, CompiledManifest>();

  function require(id: string): Blueprint {
    const blueprint = store.get(id);
    if (blueprint === undefined) throw notFound('blueprint_not_found', `There is no blueprint "${id}".`);
    return blueprint;
  }

  return {
    builtIn: BUILT_IN_IDS,
    get: (id) => store.get(id),
    require,
    manifest(id) {
      let manifest = manifests.get(id);
      if (manifest === undefined) {
        manifest = store.manifest(require(id).id);
        if (manifest === undefined) throw new Error(`the blueprint ${id} vanished while it was read`);
        manifests.set(id, manifest);
      }
      return manifest;
    },
    script: (id) => store.script(require(id).id) ?? undefined,
    ensureBuiltIn() {
      const compiled = loadBuiltInBlueprints();
      const changed = database.transaction(() =>
        compiled.filter(({ id, manifest }) =>
          store.put({
            id,
            source: 'built_in',
            createdAtMs: clock.wallMs(),
            original: null,
            manifest: JSON.stringify(manifest),
            script: null,
          }),
        ),
      );
      for (const { id, name } of changed) {
        manifests.delete(id);
        log.info('built-in blueprint written', { blueprint_id: id, name });
      }
    },
    requireByName(namespace, name, tag) {
      const found =
        namespace === BUILT_IN_NAMESPACE && tag === BUILT_IN_TAG
          ? BUILT_IN_BLUEPRINTS.find((blueprint) => blueprint.name === name)
          : undefined;
      if (found === undefined)
        throw notFound('blueprint_not_found', `There is no blueprint "${namespace}/${name}:${tag}".`);
      return require(found.id);
    },
  };
}
