/** Databases at the present version, for tests of something else than migrations: these run once in a process. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Database, openDatabase } from '../../src/platform/sqlite/index.ts';
import { TestClock } from './test-clock.ts';
import { MIGRATIONS_DIR, recordingLog } from './workspace.ts';

type Name = 'state' | 'history';
type Options = Parameters<typeof openDatabase>[0];

/** Puts the file of a new database there, unless one exists. */
type Image = (path: string) => void;

/** A new database that `fill` has worked with. */
export function databaseImage(name: Name, fill: (database: Database) => void = () => undefined): Image {
  let content: Buffer | undefined;
  return (path) => {
    if (!existsSync(path)) writeFileSync(path, (content ??= contentOf(name, fill)), { mode: 0o600 });
  };
}

const EMPTY: Record<Name, Image> = { state: databaseImage('state'), history: databaseImage('history') };

/** As `openDatabase`, on a copy of `image` where there is no file yet. */
export function openMigrated(
  name: Name,
  options: Omit<Options, 'migrationsDir'>,
  image: Image = EMPTY[name],
): Database {
  image(options.path);
  return openDatabase({ ...options, migrationsDir: join(MIGRATIONS_DIR, name) });
}

function contentOf(name: Name, fill: (database: Database) => void): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  try {
    const path = join(folder, `${name}.db`);
    const clock = new TestClock();
    const database = openDatabase({
      path,
      migrationsDir: join(MIGRATIONS_DIR, name),
      clock,
      log: recordingLog(clock).log,
    });
    fill(database);
    database.close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
