/**
 * Test files of one process, each a suite of its own: its `before` and `after` are about itself, so that what one file
 * starts is over before the next one begins. `npm test` starts it with the files in TEST_FILES, one a line, and reads
 * what each of them took in TEST_COSTS.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite } from 'node:test';
import { register } from 'tsx/esm/api';

const { TEST_FILES = '', TEST_COSTS = '', TEST_FOLDER = '' } = process.env;

// In this thread alone: `--import tsx` would be loaded again by every worker thread that a test starts.
register();

// tsx has seen where it keeps what it translates.
process.env['TMPDIR'] = TEST_FOLDER;

// Programs that a test starts are no test runners, and have no more memory than they ask for.
process.execArgv = process.execArgv.filter((flag) => !/^--(?:test|max-semi-space-size)/.test(flag));

const ROOT = join(import.meta.dirname, '..', '..');

/** Of this process and of what it started and has seen end, by /proc/self/stat in hundredths of a second (proc_pid_stat(5)). */
function processorMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

for (const file of TEST_FILES.split('\n'))
  void suite(file, async () => {
    let startedMs = 0;
    let startedProcessorMs = 0;
    before(() => {
      [startedMs, startedProcessorMs] = [performance.now(), processorMs()];
    });
    after(() => {
      const tookMs = Math.round(performance.now() - startedMs);
      const cost = { file, tookMs, processorMs: processorMs() - startedProcessorMs };
      appendFileSync(TEST_COSTS, `${JSON.stringify(cost)}\n`);
    });
    await import(join(ROOT, file));
  });
