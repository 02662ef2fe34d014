/** Rows of blueprints and of uploaded profiles. */
import { and, asc, desc, eq, ne, or, sql } from 'drizzle-orm';
import type { EpochMs } from '../../lib/time.ts';
import {
  countOf,
  type Database,
  excluded,
  given,
  placeholders,
  upsert,
} from '../../platform/sqlite/index.ts';
import type { CompiledManifest } from './manifest.ts';
import type { Blueprint } from './model.ts';
import { recordOf } from './source/tree.ts';
import { blueprint, blueprintUnused, deviceProfile } from './tables.ts';

type StoredBlueprint = Omit<typeof blueprint.$inferSelect, 'script' | 'original'> & {
  script: Uint8Array | null;
  original: Uint8Array | null;
};

/** A blueprint in the list of all. */
export interface ListedBlueprint extends Blueprint {
  source: StoredBlueprint['source'];
  displayName: string;
  hasScript: boolean;
  /** The library made it of a template. */
  isOfLibrary: boolean;
  /** Which of those with its name and origin it is, by age; the first is 1. */
  version: number;
  /** How many devices have it. */
  deviceCount: number;
}

export type BlueprintStore = ReturnType<typeof createBlueprintStore>;

export function createBlueprintStore({ orm }: Database) {
  const { id, createdAtMs, manifest, script, original, fingerprint } = blueprint;
  const isIt = given(id);
  const select = orm.select({ id, createdAtMs }).from(blueprint).where(isIt).prepare();
  const selectManifest = orm.select({ manifest }).from(blueprint).where(isIt).prepare();
  const selectScript = orm.select({ script }).from(blueprint).where(isIt).prepare();
  const selectOriginal = orm.select({ original }).from(blueprint).where(isIt).prepare();
  const upsert = orm
    .insert(blueprint)
    .values(placeholders(blueprint))
    .onConflictDoUpdate({
      target: id,
      set: excluded(blueprint, 'manifest', 'script', 'fingerprint'),
      setWhere: or(
        ne(manifest, sql`excluded.manifest`),
        sql`${script} IS NOT excluded.script`,
        sql`${fingerprint} IS NOT excluded.fingerprint`,
      ),
    })
    .prepare();
  const selectByFingerprint = orm
    .select({ id, createdAtMs })
    .from(blueprint)
    .where(given(fingerprint))
    .prepare();
  const countOfFingerprint = countOf(orm, blueprint, given(fingerprint));

  return {
    get: (wanted: string): Blueprint | undefined => select.get({ id: wanted }),
    manifest(wanted: string): CompiledManifest | undefined {
      const row = selectManifest.get({ id: wanted });
      return row && manifestOf(row.manifest);
    },
    /** Null: no script; undefined: no blueprint. */
    script: (wanted: string): Uint8Array | null | undefined => selectScript.get({ id: wanted })?.script,
    /** Null: built in; undefined: no blueprint. */
    original: (wanted: string): Uint8Array | null | undefined => selectOriginal.get({ id: wanted })?.original,
    /** Adds the row; for one that exists, replaces manifest and script. True when anything changed. */
    put: (row: StoredBlueprint): boolean => upsert.run({ ...row }).changes > 0,
    byFingerprint: (wanted: string): Blueprint | undefined =>
      selectByFingerprint.get({ fingerprint: wanted }),
    countOfFingerprint: (wanted: string): number => countOfFingerprint({ fingerprint: wanted }),
    ...listStatements(orm),
    ...unusedStatements(orm),
    ...profileStatements(orm),
  };
}

function listStatements(orm: Database['orm']) {
  const { id, createdAtMs, source, manifest, script, fingerprint } = blueprint;
  const displayName = sql<string>`coalesce(${manifest} ->> '$.display_name', '')`;
  const isOfLibrary = sql`(${source} = 'uploaded' AND ${fingerprint} IS NOT NULL)`.mapWith(Boolean);
  const select = orm
    .select({
      id,
      createdAtMs,
      source,
      displayName,
      hasScript: sql`${script} IS NOT NULL`.mapWith(Boolean),
      isOfLibrary,
      version: sql<number>`row_number() OVER (PARTITION BY ${source}, ${isOfLibrary}, ${displayName} ORDER BY ${createdAtMs}, ${blueprint}.rowid)`,
      deviceCount: sql<number>`(${deviceCountOf(id)})`,
    })
    .from(blueprint)
    .orderBy(id)
    .limit(sql.placeholder('limit'))
    .offset(sql.placeholder('offset'))
    .prepare();
  return {
    /** A part of all blueprints, by id. */
    list: (limit: number, offset: number): ListedBlueprint[] => select.all({ limit, offset }),
    count: countOf(orm, blueprint),
  };
}

/** The table of devices belongs to a capability above this one. */
const deviceCountOf = (id: unknown) => sql`SELECT count(*) FROM device WHERE device.blueprint_id = ${id}`;

/** Uploaded blueprints that no device has. */
function unusedStatements(orm: Database['orm']) {
  const { id, source } = blueprint;
  const { blueprintId, days } = blueprintUnused;
  const isUnused = and(
    eq(source, 'uploaded'),
    sql`NOT EXISTS (SELECT 1 FROM device WHERE device.blueprint_id = ${id})`,
  );
  const selectUse = orm
    .select({ source, deviceCount: sql<number>`(${deviceCountOf(id)})` })
    .from(blueprint)
    .where(given(id))
    .prepare();
  const forgetUsed = orm
    .delete(blueprintUnused)
    .where(sql`EXISTS (SELECT 1 FROM device WHERE device.blueprint_id = ${blueprintId})`)
    .prepare();
  const countDay = orm
    .insert(blueprintUnused)
    .select(
      orm
        .select({ blueprintId: id, days: sql<number>`1`.as('days') })
        .from(blueprint)
        .where(isUnused),
    )
    .onConflictDoUpdate({ target: blueprintId, set: { days: sql`${days} + 1` } })
    .prepare();
  const daysOrNone = sql<number>`coalesce(${days}, 0)`;
  const selectUnused = orm
    .select({ id, days: daysOrNone })
    .from(blueprint)
    .leftJoin(blueprintUnused, eq(blueprintId, id))
    .where(isUnused)
    .orderBy(asc(daysOrNone), desc(sql`${blueprint}.rowid`))
    .prepare();
  const remove = orm
    .delete(blueprint)
    .where(and(given(id), eq(source, 'uploaded')))
    .prepare();

  return {
    /** Counts a day of running for unused blueprints. */
    countUnusedDay: (): void => void countDay.run(),
    /** Forgets the days of blueprints that are used again. */
    forgetUsed: (): void => void forgetUsed.run(),
    /** Unused blueprints: those unused for the fewest days first, later uploads before earlier ones. */
    unused: (): { id: string; days: number }[] => selectUnused.all(),
    /** Origin of a blueprint and number of its devices; undefined: there is no such blueprint. */
    use: (wanted: string) => selectUse.get({ id: wanted }),
    remove: (wanted: string): void => void remove.run({ id: wanted }),
  };
}

function profileStatements(orm: Database['orm']) {
  const { path } = deviceProfile;
  const select = orm.select().from(deviceProfile).orderBy(path).prepare();
  const remove = orm.delete(deviceProfile).where(given(path)).prepare();
  const put = upsert({ orm }, deviceProfile);
  return {
    /** Path below the profile tree → what was uploaded. */
    profiles: (): Map<string, { content: string; uploadedAtMs: EpochMs }> =>
      new Map(
        select.all().map((row) => [row.path, { content: row.content, uploadedAtMs: row.uploadedAtMs }]),
      ),
    removeProfile: (at: string): void => void remove.run({ path: at }),
    putProfile: (at: string, text: string, atMs: EpochMs): void =>
      void put.run({ path: at, content: text, uploadedAtMs: atMs }),
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

/**
 * The stored manifest, its objects frozen, its maps of names without a prototype. Arrays are not frozen: the runtime
 * writes a text with a frozen one in it four times slower, and each device of a list has the profiles of its manifest.
 */
function manifestOf(text: string): CompiledManifest {
  return JSON.parse(text, (key, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.freeze(NAME_MAPS.has(key) ? recordOf(Object.entries(value)) : value);
  }) as CompiledManifest;
}
