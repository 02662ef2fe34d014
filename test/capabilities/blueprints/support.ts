/** The service of blueprints on a real database in a temporary folder. */
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createBlueprints, type BlueprintService } from '../../../src/capabilities/blueprints/index.ts';
import { openDatabase, type Database } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { MIGRATIONS_DIR, recordingLog, temporaryFolder, type LogLine } from '../../support/workspace.ts';

export interface BlueprintSetup {
  blueprints: BlueprintService;
  database: Database;
  clock: TestClock;
  lines: LogLine[];
  /** A second service over the same database, as after a restart. */
  restart: () => BlueprintService;
}

export function startBlueprints(test: Pick<TestContext, 'after'>): BlueprintSetup {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const database = openDatabase({
    path: join(temporaryFolder(test), 'state.db'),
    migrationsDir: join(MIGRATIONS_DIR, 'state'),
    clock,
    log,
  });
  test.after(() => database.close());
  const restart = (): BlueprintService => {
    const service = createBlueprints({ database, clock, log, newId: randomUUID });
    service.ensureBuiltIn();
    return service;
  };
  return { blueprints: restart(), database, clock, lines, restart };
}
