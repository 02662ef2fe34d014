/** `npm run check`: everything that has to pass before a change goes in, or one of the longer checks in `scripts/checks/`. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { runScript, UsageError } from './support/arguments.ts';

const ROOT = join(import.meta.dirname, '..');

/** What each check asks, by the name of its file. */
const KINDS: Readonly<Record<string, string>> = {
  aborts: 'does a caller that disconnects at any moment cost anybody else anything?',
  clients: 'do clients that public generators make of the description work?',
  coverage: 'which tests exercise each operation, path, alias and client call?',
  debian: 'does the package survive installations, failures and power cuts on a clean Debian?',
  faults: 'is anything acknowledged lost, doubled or forgotten after kills, power cuts and broken disks?',
  fleet: 'do the shipped dashboard and alerts show twenty gateways correctly?',
  'lua-oracle': 'what does a native Lua print for the conformance programs? (writes the expected files)',
  mutation: 'which changes of a source file does no test notice?',
  requests: 'does every operation answer generated requests as the description says?',
  targets: 'does every sample arrive once in every target, through outages, kills and power cuts?',
  year: 'does the gateway survive simulated years with an event every hour?',
};

/** What has to pass before a change goes in, the cheapest first. */
const WHOLE = [['types'], ['lint'], ['format'], ['test', '--', '--all']];

const HELP = `Usage: npm run check [-- KIND [options]]

Without KIND: types, lint, format and all tests, as before a change goes in. With KIND, one of the longer checks:

${Object.entries(KINDS)
  .map(([kind, question]) => `  ${kind.padEnd(12)}${question}`)
  .join('\n')}

  --help      this text; after KIND, the options of that check`;

/** Runs the npm scripts one after another; returns the first exit code that is not 0. */
function runAll(scripts: readonly (readonly string[])[]): number {
  for (const words of scripts) {
    const { status } = spawnSync(process.execPath, ['--run', ...words], { cwd: ROOT, stdio: 'inherit' });
    if (status !== 0) return status ?? 1;
  }
  return 0;
}

const [kind] = process.argv.slice(2);
if (kind !== undefined && Object.hasOwn(KINDS, kind)) {
  const program = join(ROOT, 'scripts', 'checks', `${kind}.ts`);
  // The check is a program of its own: it reads its options, and may start itself anew with mounts of its own.
  process.argv.splice(1, 2, program);
  await import(program);
} else
  await runScript(async () => {
    if (kind === '--help') {
      console.log(HELP);
      return 0;
    }
    if (kind?.startsWith('-')) throw new UsageError(`Unknown option '${kind}'`);
    if (kind !== undefined)
      throw new UsageError(`there is no check "${kind}"; there are: ${Object.keys(KINDS).join(', ')}`);
    return runAll(WHOLE);
  });
