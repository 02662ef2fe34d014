/** Rows of blueprints: table `blueprint` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { CompiledManifest } from './manifest.ts';
import type { Blueprint } from './model.ts';
import { recordOf } from './source/tree.ts';

export interface StoredBlueprint extends Blueprint {
  source: 'built_in' | 'uploaded';
  /** Zip as uploaded; built-in ones are made into a zip on demand. */
  original: Uint8Array | null;
  /** Compiled manifest as JSON. */
  manifest: string;
  /** Compiled Lua file; null without a script. */
  script: string | null;
}

export type BlueprintStore = ReturnType<typeof createBlueprintStore>;

export function createBlueprintStore(database: Database) {
  const select = database.prepare<[string], { id: string; created_at_ms: number }>(
    'SELECT id, created_at_ms FROM blueprint WHERE id = ?',
  );
  const selectManifest = database
    .prepare<[string], string>('SELECT manifest FROM blueprint WHERE id = ?')
    .pluck();
  const selectScript = database
    .prepare<[string], string | null>('SELECT script FROM blueprint WHERE id = ?')
    .pluck();
  const upsert = database.prepare(
    `INSERT INTO blueprint (id, source, created_at_ms, original, manifest, script)
     VALUES (:id, :source, :createdAtMs, :original, :manifest, :script)
     ON CONFLICT (id) DO UPDATE SET manifest = excluded.manifest, script = excluded.script
     WHERE manifest <> excluded.manifest OR script IS NOT excluded.script`,
  );

  return {
    get(id: string): Blueprint | undefined {
      const row = select.get(id);
      return row && { id: row.id, createdAtMs: row.created_at_ms };
    },
    manifest(id: string): CompiledManifest | undefined {
      const text = selectManifest.get(id);
      return text === undefined ? undefined : manifestOf(text);
    },
    /** Null: no script; undefined: no blueprint. */
    script: (id: string): string | null | undefined => selectScript.get(id),
    /** Adds the row; for one that exists, replaces manifest and script. True when anything changed. */
    put: (blueprint: StoredBlueprint): boolean => upsert.run(blueprint).changes > 0,
  };
}

/** Maps whose keys are names of the manifest, which a caller looks up by what the caller sent. */
const NAME_MAPS = new Set([
  'properties',
  'telemetry',
  'alerts',
  'commands',
  'command_groups',
  'configuration',
  'arguments',
  'response',
  'parameters',
  'units',
]);

/** The stored manifest, frozen, its maps of names without a prototype. */
function manifestOf(text: string): CompiledManifest {
  return JSON.parse(text, (key, value: unknown) => {
    if (typeof value !== 'object' || value === null) return value;
    const isNameMap = NAME_MAPS.has(key) && !Array.isArray(value);
    return Object.freeze(isNameMap ? recordOf(Object.entries(value)) : value);
  }) as CompiledManifest;
}
