/**
 * Runs the tests: `node:test` of the pinned runtime, through tsx, in as many processes beside each other as there are processors.
 *
 *   quick   unit and contract, what needs no program, browser or device of its own
 *   slow    scripts, archives and programs inside this process, or real time that has to pass: with the quick ones
 *   long    flows, whole programs, browsers, other programs' clients
 *
 * Many files share a process, dealt by what they took in the last run: each process loads all of the program anew. Those
 * that start programs do not share with those that fill memory: a start copies the page tables of the process that asks.
 *
 * Between two thoughts only the quick ones run, and of cases by chance a part.
 *
 * Worker threads and child programs of both are the bundle, built anew, as on a board.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './build.ts';
import { decimal, parseArguments, runScript, UsageError } from './support/arguments.ts';

const HELP = `Usage: npm test [-- FILE... | -- --all]

Runs the quick tests, every test (--all), or the named files. The exit code is 1 if a test fails.

  --all           also tests of scripts, flows, programs and browsers
  --runs FACTOR   multiplies the number of random cases (default 1; for the quick tests alone 0.2)
  --help          this text`;

const ROOT = join(import.meta.dirname, '..');

/** Folders of tests that start programs, browsers or clients. */
const LONG = /^test\/(?:flows|process|faults|package|systemd|scripts|browser|contract\/clients)\//;
/** Those of them that mount disks: a program with mounts of its own, as one that is installed, holds those of others. */
const MOUNTING = /^test\/(?:faults|package)\/|^test\/process\/full-disk\./;
/** Those that start programs all the time, and make little garbage themselves. */
const STARTING = /^test\/(?:process|package|systemd|scripts|faults|contract\/clients|platform\/processes)\//;
/** Folders and files of tests that run scripts, seal backups, wait for real time, or read the whole house. */
const SLOW = [
  /^test\/(?:scripting\/(?:host|http|rule-sandbox)|field-module|gateway|site-file|platform\/(?:processes|backup|packages|threads))\//,
  /^test\/capabilities\/rules\/(?:sandbox|methods|dry-runs)\./,
  /^test\/capabilities\/blueprints\/(?:hostile|archive|round-trip)\./,
  /^test\/telemetry-store\/threaded-history\./,
  /^test\/(?:tidy|docs|architecture|console\/words)\./,
];
/** Takes calls of its process over, and counts what that gathers. */
const ALONE = /^test\/faults\/simulated-days\./;
/** Factor of the usual number of random cases when only the quick tests run: every run draws others. */
const QUICK_RUNS_FACTOR = 0.2;
/** A guess at what takes long. */
const MS_PER_BYTE = 0.1;
/** A test, and a file of tests, that takes longer hangs; it is named and the run goes on. Faults and installations take minutes. */
const QUICK_TIMEOUT_MS = 120_000;
const LONG_TIMEOUT_MS = 600_000;

/** A run that takes longer is ended, with the files named that are not done; `.ci/run` gives the whole check 28 minutes. */
const RUN_LIMIT_MS = 2_400_000;

/** What tsx and the runtime translated is kept from run to run, and what each file took; tsx knows only the temporary folder. */
const CACHE = join(ROOT, 'node_modules', '.cache', 'tests');
const COMPILED = join(CACHE, 'compiled');
const COSTS = join(CACHE, 'costs.json');
/**
 * Most of what a test makes is garbage at its end, so there is room for a lot of it before the first collection. What
 * lies outside of the heap counts like the heap: by itself it would start a collection of everything every 64 MB.
 */
const ROOMY_HEAP = [
  '--max-semi-space-size=32',
  '--initial-heap-size=800',
  '--external-memory-accounted-in-global-limit',
  // Helpers of a collection find little to do, and wait for each other.
  '--single-threaded-gc',
];
/** Settings of the C library: memory freed by one test is kept for the next one, and not returned to the system. */
const KEPT_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: String(4 * 1_024 ** 2),
  MALLOC_TRIM_THRESHOLD_: String(256 * 1_024 ** 2),
};

interface TestRun {
  files: readonly string[];
  timeoutMs: number;
  /** Where its tests may write. */
  folder: string;
  /** Flags of the runtime. */
  flags: readonly string[];
}

interface Cost {
  file: string;
  tookMs: number;
  processorMs: number;
}

/** What files took when they last ran; a new clone knows of none. */
function lastCosts(): ReadonlyMap<string, Cost> {
  if (!existsSync(COSTS)) return new Map();
  const costs = JSON.parse(readFileSync(COSTS, 'utf8')) as Cost[];
  return new Map(costs.map((cost) => [cost.file, cost]));
}

/** Those of the first list that fit together into `count` lists that take about as long; by bytes of source, where nobody knows. */
function shares(files: readonly string[], count: number, costs: ReadonlyMap<string, Cost>): string[][] {
  const lists = Array.from({ length: count }, () => ({ tookMs: 0, files: [] as string[] }));
  const sized = files.map((file) => ({
    file,
    tookMs: costs.get(file)?.tookMs ?? statSync(join(ROOT, file)).size * MS_PER_BYTE,
  }));
  for (const { file, tookMs } of sized.sort((a, b) => b.tookMs - a.tookMs)) {
    const least = lists.reduce((best, list) => (list.tookMs < best.tookMs ? list : best));
    least.files.push(file);
    least.tookMs += tookMs;
  }
  return lists.map(({ files: share }) => share.sort()).filter((share) => share.length > 0);
}

function runsOf(files: readonly string[], processes: number, memory: string): TestRun[] {
  const costs = lastCosts();
  const left = new Set(files);
  const taken = (which: RegExp): string[] => {
    const found = [...left].filter((file) => which.test(file));
    for (const file of found) left.delete(file);
    return found;
  };
  const dealt = (part: readonly string[], terms: Omit<TestRun, 'files'>, count = 1): TestRun[] =>
    shares(part, count, costs).map((share) => ({ files: share, ...terms }));
  const onDisk = { timeoutMs: LONG_TIMEOUT_MS, folder: tmpdir() };
  const alone = dealt(taken(ALONE), { ...onDisk, flags: ROOMY_HEAP });
  const mounting = dealt(taken(MOUNTING), { ...onDisk, flags: [] });
  const timeoutMs = files.some((file) => LONG.test(file)) ? LONG_TIMEOUT_MS : QUICK_TIMEOUT_MS;
  const inMemory = { timeoutMs, folder: memory };
  const starting = dealt(taken(STARTING), { ...inMemory, flags: [] });
  const others = dealt([...left], { ...inMemory, flags: ROOMY_HEAP }, processes - mounting.length);
  return [...mounting, ...starting, ...alone, ...others];
}

/** Memory that looks like a disk: a gateway that is started writes 25 MB, and most quick tests have one of their own. */
const MEMORY_FOLDER = '/dev/shm';
const MEMORY_BYTES_LEAST = 2 * 1_024 ** 3;

/** For quick tests and those in memory; what is promised of a disk is asked by long ones, on disks that they make themselves. */
function memoryOrDisk(): string {
  if (!existsSync(MEMORY_FOLDER)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
  return bavail * bsize >= MEMORY_BYTES_LEAST ? MEMORY_FOLDER : tmpdir();
}

/** What the test processes of a run leave behind for its end: in `folder`, a file of costs, and one of failures of each process. */
interface Results {
  folder: string;
  costs: string;
}

/** Test processes that run. Each leads a group, with all that its tests started. */
const running = new Set<ChildProcess>();

/** Ends test processes with everything that they started. */
function endAll(children: Iterable<ChildProcess>): void {
  for (const { pid } of children) {
    if (pid === undefined) continue;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch (error) {
      // The last process of the group has just ended.
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Runs one test process; resolves with whether everything passed. */
function run(
  { files, timeoutMs, folder, flags }: TestRun,
  factor: number,
  results: Results,
): Promise<boolean> {
  const args = [...flags, '--conditions=bundled'];
  const options = ['--test-force-exit', `--test-timeout=${timeoutMs}`];
  const reporters = [
    ['spec', 'stdout'],
    ['./scripts/support/failure-reporter.ts', join(results.folder, `${randomUUID()}.failures`)],
  ].flatMap(([name, to]) => [`--test-reporter=${name}`, `--test-reporter-destination=${to}`]);
  const child = spawn(
    process.execPath,
    [...args, ...options, ...reporters, 'scripts/support/test-suites.ts'],
    {
      cwd: ROOT,
      env: {
        ...process.env,
        ...KEPT_MEMORY,
        TEST_PROGRAMS_ENVIRONMENT: JSON.stringify(process.env, Object.keys(KEPT_MEMORY)),
        TMPDIR: CACHE,
        TEST_FOLDER: folder,
        // Threads and scripts start hundreds of times; gateways that are started as on a board do not get this setting.
        NODE_COMPILE_CACHE: COMPILED,
        TEST_FILES: files.join('\n'),
        TEST_COSTS: results.costs,
        TEST_RUNS_FACTOR: String(factor),
      },
      stdio: ['ignore', 'inherit', 'inherit'],
      detached: true,
    },
  );
  running.add(child);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      // What a failed test left behind ends with its process.
      endAll([child]);
      running.delete(child);
      // With a failed test it is 1; whatever else it is, no test tells.
      if (code !== 0)
        console.error(`a process of ${files.length} files of tests ended with ${signal ?? code}`);
      resolve(code === 0);
    });
  });
}

/** Keeps what files took for the next run; returns those that did not come to their end. */
function keepCosts(files: readonly string[], lines: string): string[] {
  const costs = lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Cost]));
  const known = new Map([...lastCosts(), ...costs.map((cost) => [cost.file, cost] as const)]);
  // Another run may read them at any moment.
  const fresh = `${COSTS}.${process.pid}`;
  writeFileSync(fresh, `[\n${[...known.values()].map((cost) => JSON.stringify(cost)).join(',\n')}\n]\n`);
  renameSync(fresh, COSTS);
  const ended = new Set(costs.map(({ file }) => file));
  return files.filter((file) => !ended.has(file));
}

await runScript(async () => {
  const { values, positionals } = parseArguments({
    all: { type: 'boolean', default: false },
    runs: { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const isQuick = positionals.length === 0 && !values.all;
  const factor = decimal('runs', values.runs, 0.01, 1_000) ?? (isQuick ? QUICK_RUNS_FACTOR : 1);
  const named = positionals.length > 0 ? positionals : globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  const files = isQuick
    ? named.filter((file) => ![LONG, ...SLOW].some((folder) => folder.test(file)))
    : named;
  if (files.length === 0) throw new UsageError('no test file');
  const missing = files.filter((file) => !existsSync(join(ROOT, file)));
  if (missing.length > 0) throw new UsageError(`no such file: ${missing.join(', ')}`);
  await bundle(join(ROOT, 'dist'));
  // Quick tests wait for a sixth of their time, and those that mount disks or start programs for most of it.
  const processes = Math.max(2, availableParallelism()) + 1;
  mkdirSync(CACHE, { recursive: true });
  const memory = mkdtempSync(join(memoryOrDisk(), 'gateway-tests-'));
  // Programs that a test starts as another user have their folders in it.
  chmodSync(memory, 0o711);
  const results = { folder: memory, costs: join(memory, 'costs') };
  writeFileSync(results.costs, '');
  const waiting = runsOf(files, processes, memory);
  let passed = true;
  const stop = (why: string): void => {
    console.error(why);
    passed = false;
    waiting.length = 0;
    endAll(running);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop(`ended by ${signal}`));
  const limit = setTimeout(() => stop('the run takes too long and is ended'), RUN_LIMIT_MS);
  try {
    await Promise.all(
      Array.from({ length: processes + 1 }, async () => {
        for (let next = waiting.shift(); next; next = waiting.shift())
          passed = (await run(next, factor, results)) && passed;
      }),
    );
    for (const file of keepCosts(files, readFileSync(results.costs, 'utf8'))) {
      console.error(`${file} did not come to its end`);
      passed = false;
    }
    for (const failures of globSync(join(memory, '*.failures'))) process.stderr.write(readFileSync(failures));
  } finally {
    clearTimeout(limit);
    rmSync(memory, { recursive: true, force: true });
  }
  return passed ? 0 : 1;
});
