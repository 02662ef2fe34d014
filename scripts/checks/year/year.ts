/** One year as a process of its own, which `npm run check -- year` starts: `year.js <seed> <days>`. */
import { describe, simulate } from './run.ts';

const PROBLEMS_SHOWN = 40;

async function main(seed: number, days: number): Promise<number> {
  const say = (line: string): void => void process.stdout.write(`${seed}: ${line}\n`);
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
  const { user, system } = process.cpuUsage();
  const worked = `${((user + system) / 1e6).toFixed(0)} s of processor time`;
  say(
    problems.length === 0
      ? `${days} days: nothing acknowledged was lost, doubled or forgotten (${took}, ${worked})`
      : `${days} days: ${problems.length} problems, seed ${seed} (${took}, ${worked})`,
  );
  return problems.length === 0 ? 0 : 1;
}

const [seed = 0, days = 365] = process.argv.slice(2).map(Number);
process.exitCode = await main(seed, days);
