/** `npm run simulate-year`: does a box live through its years, with something happening to it every hour? */
import { randomInt } from 'node:crypto';
import { describe, simulate } from './simulate-year/run.ts';
import { parseWords, runScript, whole } from './support/arguments.ts';

const HELP = `Lives through a year of the whole gateway in one process, on simulated time.

  npm run simulate-year -- [options]

  --days D   how many days (default 365)
  --seed N   repeat a year (default: a new seed, printed)

Every simulated hour devices measure and log, owners change things, a command is run, and something happens, by chance:
a restart, a kill without a stop, a clock that jumps, is dead or boots wrong, another time zone, a full disk, failing
syncs, a damaged journal, a lost network. Afterwards everything acknowledged is read back. Rules and scripts of devices
do not run here: their programs keep real time. Exit code 1 when something was lost, doubled or forgotten, or when
memory, files, handles or timers grew.
`;

const PROBLEMS_SHOWN = 40;

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const values = parseWords({ help: { type: 'boolean' }, days: text, seed: text });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? randomInt(2 ** 31);
  const days = whole('days', values.days, 1, 36_500) ?? 365;
  say(`seed ${seed}, ${days} days`);
  const startedMs = performance.now();
  const { problems, faults, counts, resources } = await simulate({ seed, days, say });
  say(`faults      ${[...faults].map(([name, count]) => `${name} ${count}`).join(', ')}`);
  say(
    `kept        ${counts.samples} samples, ${counts.logs} log entries, ${counts.commands} commands, ${counts.changes} changes, ${counts.logins} logins`,
  );
  say(`after a day ${describe(resources.early)}`);
  say(`at the end  ${describe(resources.late)}`);
  for (const { kind, item } of problems.slice(0, PROBLEMS_SHOWN)) say(`  ${kind}: ${item}`);
  const took = `${((performance.now() - startedMs) / 1_000).toFixed(0)} s`;
  say(
    problems.length === 0
      ? `nothing acknowledged was lost, doubled or forgotten (${took})`
      : `${problems.length} problems, seed ${seed} (${took})`,
  );
  return problems.length === 0 ? 0 : 1;
}

await runScript(main);
