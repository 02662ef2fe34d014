/**
 * Test files of one process, each a suite of its own: its `before` and `after` are about itself, so that what one file
 * starts is over before the next one begins. `npm test` starts it with the files in TEST_FILES, one a line, and reads
 * what each of them took in TEST_COSTS. Programs that they start get TEST_PROGRAMS_ENVIRONMENT.
 */
import { type AsyncHook, createHook } from 'node:async_hooks';
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, beforeEach, mock, suite } from 'node:test';
import { register } from 'tsx/esm/api';

const { TEST_FILES = '', TEST_COSTS = '', TEST_FOLDER = '', TEST_PROGRAMS_ENVIRONMENT = '{}' } = process.env;

// In this thread alone: `--import tsx` would be loaded again by every worker thread that a test starts.
register();

// tsx has seen where it keeps what it translates.
process.env['TMPDIR'] = TEST_FOLDER;

// Programs that a test starts are no test runners, and have no more memory than they ask for.
process.execArgv = process.execArgv.filter((flag) => flag.startsWith('--conditions='));
Object.assign(process.env, JSON.parse(TEST_PROGRAMS_ENVIRONMENT));

const ROOT = join(import.meta.dirname, '..', '..');

/**
 * Processor time of this process and of its ended children, by /proc/self/stat in hundredths of a second
 * (proc_pid_stat(5)).
 */
function processorMs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

/**
 * Runs `begin`, in which the test runner starts, and returns the hook that the runner enables then. By this hook the
 * runner knows in which suite a test is declared. The hook follows every promise, also of tests that run.
 */
function hookOfRunner(begin: () => void): AsyncHook {
  const { mock: spy } = mock.method(Object.getPrototypeOf(createHook({})) as AsyncHook, 'enable');
  begin();
  spy.restore();
  const [call] = spy.calls;
  if (!call) throw new Error('the test runner enabled no hook: this runtime needs no hookOfRunner');
  return call.this as AsyncHook;
}

/** The test that runs, with its file. */
let running = '';

function declare(file: string): void {
  void suite(file, async () => {
    let startedMs = 0;
    let startedProcessorMs = 0;
    before(() => {
      // Everything is declared: from now on the hook would only cost time.
      hook.disable();
      [startedMs, startedProcessorMs] = [performance.now(), processorMs()];
    });
    beforeEach((test) => {
      running = `${file}: ${test.fullName}`;
    });
    after(() => {
      const tookMs = Math.round(performance.now() - startedMs);
      const cost = { file, tookMs, processorMs: processorMs() - startedProcessorMs };
      appendFileSync(TEST_COSTS, `${JSON.stringify(cost)}\n`);
    });
    await import(join(ROOT, file));
  });
}

const [first = '', ...others] = TEST_FILES.split('\n');
const hook = hookOfRunner(() => declare(first));
for (const file of others) declare(file);

// Without its hook the runner does not know which test caused an error that nobody caught, and that test may never end.
for (const event of ['uncaughtException', 'unhandledRejection'])
  process.on(event, (error) => {
    console.error(`${event} in ${running}`, error);
    process.exit(1);
  });
