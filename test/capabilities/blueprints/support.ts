/** The service of blueprints on a real database in a temporary folder. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { catalogueOf } from '../../../src/capabilities/blueprints/built-in.ts';
import {
  type BlueprintChecks,
  compileArchive,
  compileFiles,
  type CompileTask,
} from '../../../src/capabilities/blueprints/compile-archive.ts';
import { Blueprints, type CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import { writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import type { Log } from '../../../src/platform/log/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import type { Database } from '../../../src/platform/sqlite/index.ts';
import type { TaskTerms } from '../../../src/platform/workers/index.ts';
import { databaseImage, openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder, type LogLine } from '../../support/workspace.ts';

export interface BlueprintSetup {
  blueprints: Blueprints;
  database: Database;
  clock: TestClock;
  lines: LogLine[];
  /** A second service over the same database, as after a restart. */
  restart: () => Blueprints;
}

/** Program version in tests: built-in blueprints that another version compiled are compiled again. */
export const TEST_VERSION = '0.0.0-test';

/** Compiles the built-in blueprints into a new state.db, which takes longer than most tests. */
export const fillBuiltIn = (database: Database): void => createService(database).ensureBuiltIn();

/** A new state.db that holds the built-in blueprints. */
const withBuiltIn = databaseImage('state', fillBuiltIn);

/** @param workMs what the thread says that every blueprint took */
export function startBlueprints(
  test: Pick<TestContext, 'after'>,
  checks?: BlueprintChecks,
  workMs = 0,
): BlueprintSetup {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const path = join(temporaryFolder(test), 'state.db');
  const database = openMigrated('state', { path, clock, log }, withBuiltIn);
  test.after(() => database.close());
  const restart = (): Blueprints => {
    const service = createService(database, { clock, log, workMs, ...(checks && { checks }) });
    service.ensureBuiltIn();
    return service;
  };
  return { blueprints: restart(), database, clock, lines, restart };
}

interface ServiceOptions {
  clock?: TestClock;
  log?: Log;
  checks?: BlueprintChecks;
  workMs?: number;
}

function createService(
  database: Database,
  { clock = new TestClock(), log = recordingLog(clock).log, checks, workMs = 0 }: ServiceOptions = {},
): Blueprints {
  // Without the thread: the same work, and each test starts faster.
  const compiler = {
    compile: ({ zip, profiles, checks }: CompileTask, terms: TaskTerms = {}) => {
      terms.onWork?.(workMs);
      return compileArchive(zip, catalogueOf(profiles), checks);
    },
    stop: () => Promise.resolve(),
  };
  return new Blueprints({
    database,
    clock,
    log,
    metrics: createMetrics(),
    newId: randomUUID,
    compiler,
    version: TEST_VERSION,
    ...(checks && { checks }),
  });
}

/** Problems of a blueprint given as its manifest's text and other files; empty when it compiles. */
export function problemsOf(manifest: string, files: Record<string, string> = {}): string[] {
  return compileFiles(filesOf({ 'manifest.yml': manifest, ...files }), catalogueOf(new Map())).problems ?? [];
}

/** The compiled blueprint; fails with its problems. */
export function compiled(
  manifest: string,
  files: Record<string, string> = {},
): { manifest: CompiledManifest; script: string | undefined } {
  const result = compileFiles(filesOf({ 'manifest.yml': manifest, ...files }), catalogueOf(new Map()));
  if (result.manifest === undefined) throw new Error(result.problems.join('\n'));
  return {
    // As a reader gets it: plain objects.
    manifest: JSON.parse(JSON.stringify(result.manifest)) as CompiledManifest,
    script: result.script && Buffer.from(result.script).toString('utf8'),
  };
}

export function filesOf(files: Record<string, string | Uint8Array>): Map<string, Buffer> {
  return new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(content)]));
}

export function zipOf(files: Record<string, string | Uint8Array>): Promise<Buffer> {
  return writeArchive(filesOf(files));
}

/** A small valid manifest; `sections` are further top-level lines. */
export function manifestWith(sections: string): string {
  return `blueprint_spec: device/3.0\ndisplay_name: Sample\nruntime:\n  type: embedded\n${sections}`;
}

/** A small valid manifest of the older spec, driven by `main.lua`. */
export function oldManifestWith(sections: string): string {
  return (
    'blueprint_spec: device/1.0\ndisplay_name: Sample\n' +
    `communication_module:\n  product: ENP-VIRTUAL\n  lua_file: main.lua\n${sections}`
  );
}
