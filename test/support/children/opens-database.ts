/** Opens a database, stores a row and closes it; says "opened", or the code of the error that it met. */
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { createLog } from '../../../src/platform/log/index.ts';
import { openDatabase } from '../../../src/platform/sqlite/index.ts';

const [path = '', migrationsDir = ''] = process.argv.slice(2);
const clock = createSystemClock();
const log = createLog({ level: 'error', format: 'text', clock, write: () => undefined });
try {
  const database = openDatabase({ path, migrationsDir, isFirst: true, clock, log });
  try {
    database.prepare('INSERT INTO item VALUES (zeroblob(100))').run();
  } finally {
    database.close();
  }
  process.stdout.write('opened');
} catch (error) {
  const { code, cause } = error as { code?: string; cause?: { code?: string } };
  process.stdout.write(String(cause?.code ?? code));
} finally {
  clock.close();
}
