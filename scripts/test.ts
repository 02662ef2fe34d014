/**
 * Runs the tests: `node --test` of the pinned runtime, through tsx, in two processes beside each other.
 *
 *   quick   unit and contract, what needs no program, browser or device of its own: many files share one process
 *   slow    scripts, archives and programs inside this process, or real time that has to pass: with the quick ones
 *   long    flows, whole programs, browsers, other programs' clients: a process for each file
 *
 * Between two thoughts only the quick ones run, and of cases by chance a part.
 *
 * Worker threads and child programs of both are the bundle, built anew, as on a board.
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, statfsSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './build.ts';
import { decimal, parseArguments, runScript, UsageError } from './support/arguments.ts';

const HELP = `Usage: npm test [-- FILE... | -- --all]

Runs the quick tests, or with --all every test, or the named files. Ends with 1 when one failed.

  --all           scripts, flows, programs and browsers too
  --runs FACTOR   property tests and repetitions by chance: so many times the usual number (default 1, of the quick
                  ones alone a fifth)
  --help          this text`;

const ROOT = join(import.meta.dirname, '..');

/** Folders of tests that start programs, browsers or clients. */
const LONG = /^test\/(?:flows|process|faults|package|systemd|scripts|browser|contract\/clients)\//;
/** Folders and files of tests that run scripts, seal backups, wait for real time, or read the whole house. */
const SLOW = [
  /^test\/(?:programs|gateway|site-file|platform\/(?:processes|backup|packages|threads))\//,
  /^test\/capabilities\/rules\/(?:sandbox|methods|dry-runs)\./,
  /^test\/capabilities\/blueprints\/(?:hostile|archive|round-trip)\./,
  /^test\/capabilities\/telemetry\/threaded-history\./,
  /^test\/(?:tidy|docs|architecture|console\/words)\./,
];
/** Of the usual number of cases by chance, when only the quick tests run. */
const QUICK_RUNS_FACTOR = 0.2;
/** A test, and a file of tests, that takes longer hangs; it is named and the run goes on. Faults and installations take minutes. */
const QUICK_TIMEOUT_MS = 300_000;
const LONG_TIMEOUT_MS = 900_000;

/** Where tsx and the runtime keep what they translated, from run to run; tsx knows only the temporary folder. */
const TRANSLATED = join(ROOT, 'node_modules', '.cache', 'tests');
/** Most of what a test makes is garbage at its end: with more room for young objects they are collected less often. */
const RUNTIME_FLAGS = ['--max-semi-space-size=64'];

interface TestRun {
  files: readonly string[];
  timeoutMs: number;
  /** Where its tests may write, and more about it. */
  environment: Readonly<Record<string, string>>;
}

/** Those of the first list that fit together into `count` lists of about the same size, by bytes of source. */
function shares(files: readonly string[], count: number): string[][] {
  const lists = Array.from({ length: count }, () => ({ bytes: 0, files: [] as string[] }));
  const sized = files.map((file) => ({ file, bytes: statSync(join(ROOT, file)).size }));
  for (const { file, bytes } of sized.sort((a, b) => b.bytes - a.bytes)) {
    const least = lists.reduce((best, list) => (list.bytes < best.bytes ? list : best));
    least.files.push(file);
    least.bytes += bytes;
  }
  return lists.map(({ files: share }) => share.sort()).filter((share) => share.length > 0);
}

function runsOf(files: readonly string[], processes: number, memory: string): TestRun[] {
  const quick = files.filter((file) => !LONG.test(file));
  const long = files.filter((file) => LONG.test(file));
  // Worker threads of the same few programs begin hundreds of times. What long tests start begins as on a board.
  const environment = { TEST_FOLDER: memory, NODE_COMPILE_CACHE: join(TRANSLATED, 'compiled') };
  return [
    ...shares(quick, processes).map((share) => ({ files: share, timeoutMs: QUICK_TIMEOUT_MS, environment })),
    ...long.map((file) => ({
      files: [file],
      timeoutMs: LONG_TIMEOUT_MS,
      environment: { TEST_FOLDER: tmpdir() },
    })),
  ];
}

/** Memory that looks like a disk: a gateway that is started writes 25 MB, and most quick tests have one of their own. */
const MEMORY_FOLDER = '/dev/shm';
const MEMORY_BYTES_LEAST = 2 * 1_024 ** 3;

/** For quick tests; what is promised of a disk is asked by long ones, on disks that they make themselves. */
function memoryOrDisk(): string {
  if (!existsSync(MEMORY_FOLDER)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
  return bavail * bsize >= MEMORY_BYTES_LEAST ? MEMORY_FOLDER : tmpdir();
}

/** Runs one test process; resolves with whether everything passed. */
function run({ files, timeoutMs, environment }: TestRun, factor: number): Promise<boolean> {
  const args = [...RUNTIME_FLAGS, '--conditions=bundled', '--test', '--test-force-exit'];
  const options = ['--test-isolation=none', `--test-timeout=${timeoutMs}`];
  const child = spawn(process.execPath, [...args, ...options, 'scripts/support/test-suites.ts'], {
    cwd: ROOT,
    env: {
      ...process.env,
      ...environment,
      TMPDIR: TRANSLATED,
      TEST_FILES: files.join('\n'),
      TEST_RUNS_FACTOR: String(factor),
    },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0));
  });
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
  await bundle(join(ROOT, 'dist'));
  // Quick tests wait for a sixth of their time; long ones tell times apart, and get a processor each.
  const processes = Math.max(2, availableParallelism()) + (isQuick ? 1 : 0);
  mkdirSync(TRANSLATED, { recursive: true });
  const memory = mkdtempSync(join(memoryOrDisk(), 'gateway-tests-'));
  const waiting = runsOf(files, processes, memory);
  let passed = true;
  try {
    await Promise.all(
      Array.from({ length: processes }, async () => {
        for (let next = waiting.shift(); next; next = waiting.shift())
          passed = (await run(next, factor)) && passed;
      }),
    );
  } finally {
    rmSync(memory, { recursive: true, force: true });
  }
  return passed ? 0 : 1;
});
