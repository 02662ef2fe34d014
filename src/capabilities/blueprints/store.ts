/** Rows of blueprints and uploaded profiles: tables `blueprint` and `device_profile` of state.db. */
import type { Database } from '../../platform/sqlite/index.ts';
import type { CompiledManifest } from './manifest.ts';
import type { Blueprint } from './model.ts';
import { recordOf } from './source/tree.ts';

export interface StoredBlueprint extends Blueprint {
  source: 'built_in' | 'uploaded';
  /** Of a built-in one: what it was compiled from and by. */
  fingerprint: string | null;
  /** Zip as uploaded; built-in ones are made into a zip on demand. */
  original: Uint8Array | null;
  /** Compiled manifest as JSON. */
  manifest: string;
  /** Compiled Lua file; null without a script. */
  script: Uint8Array | null;
}

/** A blueprint in the list of all. */
export interface ListedBlueprint extends Blueprint {
  source: StoredBlueprint['source'];
  displayName: string;
  hasScript: boolean;
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
    .prepare<[string], Uint8Array | null>('SELECT script FROM blueprint WHERE id = ?')
    .pluck();
  const selectOriginal = database
    .prepare<[string], Uint8Array | null>('SELECT original FROM blueprint WHERE id = ?')
    .pluck();
  const upsert = database.prepare(
    `INSERT INTO blueprint (id, source, created_at_ms, fingerprint, original, manifest, script)
     VALUES (:id, :source, :createdAtMs, :fingerprint, :original, :manifest, :script)
     ON CONFLICT (id) DO UPDATE SET manifest = excluded.manifest, script = excluded.script,
       fingerprint = excluded.fingerprint
     WHERE manifest <> excluded.manifest OR script IS NOT excluded.script
       OR fingerprint IS NOT excluded.fingerprint`,
  );
  const countOfFingerprint = database
    .prepare<[string], number>(`SELECT count(*) FROM blueprint WHERE fingerprint = ?`)
    .pluck();

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
    script: (id: string): Uint8Array | null | undefined => selectScript.get(id),
    /** Null: built in; undefined: no blueprint. */
    original: (id: string): Uint8Array | null | undefined => selectOriginal.get(id),
    /** Adds the row; for one that exists, replaces manifest and script. True when anything changed. */
    put: (blueprint: StoredBlueprint): boolean => upsert.run(blueprint).changes > 0,
    countOfFingerprint: (fingerprint: string): number => countOfFingerprint.get(fingerprint) ?? 0,
    ...listStatements(database),
    ...unusedStatements(database),
    ...profileStatements(database),
  };
}

function listStatements(database: Database) {
  const select = database.prepare<
    [number, number],
    {
      id: string;
      created_at_ms: number;
      source: StoredBlueprint['source'];
      display_name: string;
      has_script: 0 | 1;
    }
  >(
    `SELECT id, created_at_ms, source, coalesce(manifest ->> '$.display_name', '') AS display_name,
       script IS NOT NULL AS has_script
     FROM blueprint ORDER BY id LIMIT ? OFFSET ?`,
  );
  const count = database.prepare<[], number>('SELECT count(*) FROM blueprint').pluck();
  return {
    /** A part of all blueprints, by id. */
    list: (limit: number, offset: number): ListedBlueprint[] =>
      select.all(limit, offset).map((row) => ({
        id: row.id,
        createdAtMs: row.created_at_ms,
        source: row.source,
        displayName: row.display_name,
        hasScript: row.has_script === 1,
      })),
    count: (): number => count.get() ?? 0,
  };
}

/** Uploaded blueprints that no device has. */
function unusedStatements(database: Database) {
  const isUsed = 'EXISTS (SELECT 1 FROM device WHERE device.blueprint_id = blueprint.id)';
  const forgetUsed = database.prepare<[]>(
    `DELETE FROM blueprint_unused
     WHERE EXISTS (SELECT 1 FROM device WHERE device.blueprint_id = blueprint_unused.blueprint_id)`,
  );
  const countDay = database.prepare<[]>(
    `INSERT INTO blueprint_unused (blueprint_id, days)
     SELECT id, 1 FROM blueprint WHERE source = 'uploaded' AND NOT ${isUsed}
     ON CONFLICT (blueprint_id) DO UPDATE SET days = days + 1`,
  );
  const selectUnused = database.prepare<[], { id: string; days: number }>(
    `SELECT id, coalesce(days, 0) AS days FROM blueprint LEFT JOIN blueprint_unused ON blueprint_id = id
     WHERE source = 'uploaded' AND NOT ${isUsed}
     ORDER BY days, blueprint.rowid DESC`,
  );
  const remove = database.prepare<[string]>(`DELETE FROM blueprint WHERE id = ? AND source = 'uploaded'`);

  return {
    /** A day of running is over. */
    countUnusedDay: (): void => void countDay.run(),
    /** What was unused and is used again starts from zero. */
    forgetUsed: (): void => void forgetUsed.run(),
    /** Those unused for the fewest days first, later uploads before earlier ones. */
    unused: (): { id: string; days: number }[] => selectUnused.all(),
    remove: (id: string): void => void remove.run(id),
  };
}

function profileStatements(database: Database) {
  const select = database.prepare<[], { path: string; content: string; uploaded_at_ms: number }>(
    'SELECT path, content, uploaded_at_ms FROM device_profile ORDER BY path',
  );
  const remove = database.prepare<[string]>('DELETE FROM device_profile WHERE path = ?');
  const put = database.prepare<[string, string, number]>(
    `INSERT INTO device_profile (path, content, uploaded_at_ms) VALUES (?, ?, ?)
     ON CONFLICT (path) DO UPDATE SET content = excluded.content, uploaded_at_ms = excluded.uploaded_at_ms`,
  );
  return {
    /** Path below the profile tree → what was uploaded. */
    profiles: (): Map<string, { content: string; uploadedAtMs: number }> =>
      new Map(
        select.all().map((row) => [row.path, { content: row.content, uploadedAtMs: row.uploaded_at_ms }]),
      ),
    removeProfile: (path: string): void => void remove.run(path),
    putProfile: (path: string, content: string, uploadedAtMs: number): void =>
      void put.run(path, content, uploadedAtMs),
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
