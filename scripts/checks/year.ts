/** `npm run check -- year`: does a box live through its years, with something happening to it every hour? */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { parseWords, runScript, whole } from '../support/arguments.ts';
import { packPrograms } from '../support/packed-programs.ts';

const HELP = `Simulates years of the whole gateway, each in one process on simulated time.

  npm run check -- year [options]

  --days D     days of a year (default 365)
  --years N    number of years, with consecutive seeds (default 1)
  --seed N     repeat a year (default: a new seed, printed)
  --at-once N  years at the same time (default: number of processors)

Every simulated hour devices measure and log, owners change things, a command runs, and one event happens at random: a
restart, a kill, a clock that jumps, is dead or boots wrong, another time zone, a full disk, failing syncs, a damaged
journal, or a lost network. Afterwards everything acknowledged is read back. Rules and device scripts do not run here,
because their programs keep real time. The exit code is 1 if something was lost, doubled or forgotten, or if memory,
files, handles or timers grew.
`;

const YEARS_MAX = 1_000;
const THREADS = [
  'capabilities/blueprints/worker',
  'telemetry-store/engine/thread',
  'platform/backup/seal-thread',
  'platform/sqlite/upkeep-thread',
];

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const values = parseWords({
    help: { type: 'boolean' },
    days: text,
    years: text,
    seed: text,
    'at-once': text,
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? randomInt(2 ** 31);
  const days = whole('days', values.days, 1, 36_500) ?? 365;
  const years = whole('years', values.years, 1, YEARS_MAX) ?? 1;
  const atOnce = whole('at-once', values['at-once'], 1, YEARS_MAX) ?? availableParallelism();
  process.stdout.write(`seed ${seed}, ${years === 1 ? '1 year' : `${years} years`} of ${days} days\n`);
  const { folder, remove } = await packPrograms(THREADS, { year: 'scripts/checks/year/year.ts' });
  const entry = join(folder, 'dist', 'year.js');
  try {
    const left = Array.from({ length: years }, (_, index) => seed + index);
    const codes: number[] = [];
    const lanes = Array.from({ length: Math.min(atOnce, years) }, async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift())
        codes.push(await liveYear(entry, next, days));
    });
    await Promise.all(lanes);
    return Math.max(...codes);
  } finally {
    remove();
  }
}

/** Resolves with the exit code. */
function liveYear(entry: string, seed: number, days: number): Promise<number> {
  const parameters = [...process.execArgv, entry, `${seed}`, `${days}`];
  const child = spawn(process.execPath, parameters, {
    stdio: ['ignore', 'inherit', 'inherit'],
    // A year starts hundreds of gateways, each with threads that compile the same code.
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(entry), 'compiled') },
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}

await runScript(main);
