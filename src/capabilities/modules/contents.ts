/** Contents that modules fetch in chunks: scripts and facts of blueprints, by their SHA-256. */
import { hash } from 'node:crypto';
import { mapped } from '../../lib/members.ts';
import type { Blueprints, CompiledManifest } from '../blueprints/index.ts';
import { type BlueprintFacts, encodeFacts } from '../../protocol/module.ts';

export type Contents = ReturnType<typeof createContents>;

export function createContents(blueprints: Blueprints) {
  const known = new Map<string, ReturnType<typeof load>>();

  function load(blueprintId: string, script: Uint8Array) {
    const facts = encodeFacts(factsOf(blueprints.manifest(blueprintId)));
    return { script: contentOf(script), facts: contentOf(facts) };
  }

  return {
    /** Script and facts of a blueprint; undefined when it has no script. */
    ofBlueprint: (blueprintId: string) => {
      const script = known.has(blueprintId) ? undefined : blueprints.script(blueprintId);
      if (script) known.set(blueprintId, load(blueprintId, script));
      const loaded = known.get(blueprintId);
      return loaded && { script: loaded.script.summary, facts: loaded.facts.summary };
    },
    /** The bytes of a content by its hash. */
    get: (wanted: string) => {
      const contents = [...known.values()].flatMap(({ script, facts }) => [script, facts]);
      return contents.find(({ summary }) => summary.hash === wanted)?.bytes;
    },
    /** Forgets all but the blueprints in use. */
    keepOnly: (blueprintIds: ReadonlySet<string>) => {
      for (const blueprintId of known.keys()) if (!blueprintIds.has(blueprintId)) known.delete(blueprintId);
    },
  };
}

function contentOf(bytes: Uint8Array) {
  return { bytes, summary: { hash: hash('sha256', bytes), size: bytes.length } };
}

function factsOf(manifest: CompiledManifest): BlueprintFacts {
  const types = (declared: Record<string, { type: string }>): Record<string, string> =>
    mapped(declared, ({ type }) => type);
  return {
    api: manifest.blueprint_spec === 'device_compiled/3.0' ? 'v3' : 'v1',
    telemetry: types(manifest.telemetry),
    properties: types(manifest.properties),
    configuration: mapped(manifest.configuration, ({ parameters }) =>
      Object.keys(parameters).filter((name) => parameters[name]?.required === true),
    ),
  };
}
