/**
 * Test files of one process, each a suite of its own: its `before` and `after` are about itself, so that what one file
 * starts is over before the next one begins. `npm test` starts it with the files in TEST_FILES, one a line.
 */
import { join } from 'node:path';
import { suite } from 'node:test';
import { register } from 'tsx/esm/api';

// In this thread alone: `--import tsx` would be loaded again by every worker thread that a test starts.
register();

// tsx has seen where it keeps what it translates.
process.env['TMPDIR'] = process.env['TEST_FOLDER'];

// Programs that a test starts are no test runners, and have no more memory than they ask for.
process.execArgv = process.execArgv.filter((flag) => !/^--(?:test|max-semi-space-size)/.test(flag));

const ROOT = join(import.meta.dirname, '..', '..');

for (const file of (process.env['TEST_FILES'] ?? '').split('\n'))
  void suite(file, async () => {
    await import(join(ROOT, file));
  });
