/** Contents that modules fetch in chunks: scripts and facts of blueprints, by their SHA-256. */
import { hash } from 'node:crypto';
import { mapped } from '../../lib/members.ts';
import type { Blueprints, CompiledManifest } from '../blueprints/index.ts';
import { type BlueprintFacts, encodeFacts } from '../../protocol/module.ts';

export type Contents = ReturnType<typeof createContents>;

interface Known {
  script: Uint8Array;
  facts: Uint8Array;
  scriptHash: string;
  factsHash: string;
}

export function createContents(blueprints: Blueprints) {
  const known = new Map<string, Known>();

  function load(blueprintId: string): Known | undefined {
    const present = known.get(blueprintId);
    if (present) return present;
    const script = blueprints.script(blueprintId);
    if (script === undefined) return undefined;
    const facts = encodeFacts(factsOf(blueprints.manifest(blueprintId)));
    const loaded = { script, facts, scriptHash: hash('sha256', script), factsHash: hash('sha256', facts) };
    known.set(blueprintId, loaded);
    return loaded;
  }

  return {
    /** Script and facts of a blueprint; undefined when it has no script. */
    ofBlueprint: (blueprintId: string) => {
      const loaded = load(blueprintId);
      return (
        loaded && {
          script: { hash: loaded.scriptHash, size: loaded.script.length },
          facts: { hash: loaded.factsHash, size: loaded.facts.length },
        }
      );
    },
    /** The bytes of a content by its hash. */
    get: (wanted: string) => {
      for (const { script, facts, scriptHash, factsHash } of known.values()) {
        if (wanted === scriptHash) return script;
        if (wanted === factsHash) return facts;
      }
      return undefined;
    },
    /** Forgets all but the blueprints in use. */
    keepOnly: (blueprintIds: ReadonlySet<string>) => {
      for (const blueprintId of known.keys()) if (!blueprintIds.has(blueprintId)) known.delete(blueprintId);
    },
  };
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
