/** `npm run check -- mutation`: which changes of a source file does no test notice? */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArguments, runScript, UsageError, whole } from '../support/arguments.ts';

/** Installed here on demand: with its packages it is 63 MB that only this script needs. */
const STRYKER = '@stryker-mutator/core@10.1.1';

const HELP = `Changes source files in small ways (mutants) and runs their tests on each change. Lists the changes that no test notices:
each means a missing test or unnecessary code.

  npm run check -- mutation FILE... [options]

  FILE            source files; FILE:10-20 for these lines only
  --tests A,B     test files to run (default: those that import one of the files)
  --at-once N     mutants at the same time (default 2)
  --help          this text

The first run fetches ${STRYKER} into node_modules/.cache. A file takes minutes, about a second per change.
`;

const ROOT = join(import.meta.dirname, '..', '..');
const CACHE = join(ROOT, 'node_modules/.cache/mutation');
/** The slowest of the tests of one file, on a busy machine; a mutant that runs longer is one that hangs. */
const HANGS_MS = 20_000;

/** Test files with an import of one of the sources. */
function testsOf(sources: readonly string[]): string[] {
  const wanted = new Set(sources.map((source) => resolve(ROOT, source)));
  return globSync('test/**/*.test.ts', { cwd: ROOT }).filter((file) => {
    const path = join(ROOT, file);
    const imports = readFileSync(path, 'utf8').matchAll(/from '(\.[^']+)'/g);
    return [...imports].some(([, specifier = '']) => wanted.has(resolve(dirname(path), specifier)));
  });
}

function stryker(): string {
  const program = join(CACHE, 'node_modules/@stryker-mutator/core/bin/stryker.js');
  if (!existsSync(program))
    execFileSync('npm', ['install', '--prefix', CACHE, '--no-audit', '--no-fund', STRYKER], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  return program;
}

function mutate(files: readonly string[], tests: readonly string[], atOnce: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'mutation-'));
  const configuration = join(folder, 'stryker.json');
  const settings = {
    mutate: files,
    testRunner: 'command',
    commandRunner: {
      command: `${process.execPath} --import tsx --test --test-isolation=none ${tests.join(' ')}`,
    },
    concurrency: atOnce,
    timeoutMS: HANGS_MS,
    tempDirName: join(folder, 'sandbox'),
    // The compiler of this project is not the one that it knows how to ask.
    tsconfigFile: 'none',
    ignorePatterns: ['/dist', '/docs'],
    reporters: ['clear-text'],
    clearTextReporter: { allowColor: false, logTests: false, reportTests: false },
  };
  writeFileSync(configuration, JSON.stringify(settings));
  const child = spawn(process.execPath, [stryker(), 'run', configuration], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  return new Promise<number>((done, reject) => {
    child.once('error', reject);
    child.once('close', (code) => done(code ?? 1));
  }).finally(() => rmSync(folder, { recursive: true, force: true }));
}

await runScript(async () => {
  const { values, positionals } = parseArguments({
    tests: { type: 'string' },
    'at-once': { type: 'string' },
    help: { type: 'boolean', default: false },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const sources = positionals.map((file) => file.replace(/:[\d-]+$/, ''));
  const missing = sources.find((file) => !existsSync(join(ROOT, file)));
  if (sources.length === 0 || missing !== undefined)
    throw new UsageError(missing === undefined ? 'name a source file' : `there is no ${missing}`);
  const tests = values.tests?.split(',') ?? testsOf(sources);
  if (tests.length === 0) throw new UsageError('no test imports it: name its tests with --tests');
  return mutate(positionals, tests, whole('at-once', values['at-once'], 1, 64) ?? 2);
});
