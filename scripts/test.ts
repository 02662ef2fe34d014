/**
 * Runs the tests: `node --import tsx --test` of the pinned runtime, in two processes beside each other.
 *
 *   quick   what needs no program, browser or device of its own: many files share one process
 *   long    flows, whole programs, browsers, other programs' clients: a process for each file
 */
import { spawn } from 'node:child_process';
import { globSync, statSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runScript, UsageError } from './support/arguments.ts';

const HELP = `Usage: npm test [-- FILE... | -- --all]

Runs the quick tests, or with --all every test, or the named files. Ends with 1 when one failed.

  --all      flows, programs and browsers too
  --help     this text`;

const ROOT = join(import.meta.dirname, '..');

/** Folders of tests that start programs, browsers or clients, or share one gateway among files. */
const LONG = /^test\/(?:flows|process|faults|package|systemd|package|scripts|browser|contract\/clients)\//;

/** A test that takes longer hangs; it is named and the run goes on. Faults and installations take minutes. */
const QUICK_TIMEOUT_MS = 120_000;
const LONG_TIMEOUT_MS = 600_000;

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

/** Runs one test process; resolves with whether everything passed. */
function run(files: readonly string[], options: readonly string[]): Promise<boolean> {
  const args = ['--import', 'tsx', '--test', '--test-force-exit'];
  const child = spawn(process.execPath, [...args, ...options, ...files], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code === 0));
  });
}

await runScript(async () => {
  const { values, positionals } = parseArgs({
    options: {
      all: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const files = positionals.length > 0 ? positionals : globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  if (files.length === 0) throw new UsageError('no test file');
  const processes = Math.max(2, availableParallelism());
  const quick = shares(
    files.filter((file) => !LONG.test(file)),
    processes,
  );
  const passed = await Promise.all(
    quick.map((share) => run(share, ['--test-isolation=none', `--test-timeout=${QUICK_TIMEOUT_MS}`])),
  );
  const long = files.filter((file) => LONG.test(file));
  if (long.length > 0 && (values.all || positionals.length > 0))
    passed.push(await run(long, [`--test-concurrency=${processes}`, `--test-timeout=${LONG_TIMEOUT_MS}`]));
  return passed.every(Boolean) ? 0 : 1;
});
