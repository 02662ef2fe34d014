/** `npm run crash-check`: is anything that the gateway acknowledged lost or doubled when it is killed? */
import { randomInt } from 'node:crypto';
import { LIMITS } from '../src/lib/limits.ts';
import { createSystemClock } from '../src/platform/clock/index.ts';
import { programsCheck } from './crash-check/programs.ts';
import { problemLines, tableHead, tableRow } from './crash-check/report.ts';
import { crashCheck } from './crash-check/run.ts';
import { decimal, parseWords, runScript, whole } from './support/arguments.ts';

/** After a run of this length a program that ended is started again after the shortest pause. */
const STABLE_MS = LIMITS.processes.stableMs;

const HELP = `Kills the gateway at random moments and checks that nothing acknowledged was lost or doubled.

  npm run crash-check -- [options]

  --kills N         how often to kill it (default 20)
  --devices N       devices that publish once a second with QoS 1 (default 50)
  --attributes N    telemetry attributes per message (default 20)
  --seconds S       longest time between a verification and the next kill (default 6)
  --sigterm         stop it gracefully instead: within 10 s, exit code 0, nothing lost
  --programs        kill the rule sandbox and the communication module instead, each --kills times, while rules
                    and callers command devices; --seconds is the time between two kills, at most
  --bundle          run what npm run build has made instead of the sources
  --seed N          repeat the moments of a run (default: a new seed, printed)

Devices send telemetry, logs and properties and answer commands; callers rename devices and run commands. A
journal notes what the gateway acknowledged. After every restart all of it is read back through the API: each
acknowledged sample, log entry, property, name and execution must be there exactly once. Meanwhile old
telemetry is imported that expires early. In turn the gateway is killed while it serves, while its store seals,
rolls up, lets samples expire, and while it starts; the column phase says what its log says it was at. Uses a
temporary data folder and free ports. Exit code 1 when anything is missing, doubled or wrong.
`;

async function main(): Promise<number> {
  const values = parse();
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const seed = whole('seed', values.seed, 0, 2 ** 32 - 1) ?? randomInt(2 ** 32);
  const kills = whole('kills', values.kills, 1, 10_000) ?? 20;
  const signal = values.sigterm ? 'SIGTERM' : 'SIGKILL';
  const clock = createSystemClock();
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  const program = values.bundle ? 'bundle' : 'source';
  if (values.programs) {
    const maxMs = 1_000 * (decimal('seconds', values.seconds, 0.1, 3_600) ?? 13);
    const killAfterMs = { min: Math.min(STABLE_MS, maxMs), max: maxMs };
    say(`seed ${seed}, both programs ${kills} times`);
    try {
      const problems = await programsCheck({ kills, seed, program, clock, say, killAfterMs });
      if (problems.length > 0) say(problemLines(problems));
      else say('both programs came back in time, every execution has one end, nothing ran twice');
      return problems.length === 0 ? 0 : 1;
    } finally {
      clock.close();
    }
  }
  process.stdout.write(`seed ${seed}, ${kills} times ${signal}\n`);
  try {
    let head = `${tableHead()}\n`;
    const problems = await crashCheck({
      kills,
      devices: whole('devices', values.devices, 1, 1_000) ?? 50,
      attributes: whole('attributes', values.attributes, 1, 1_000) ?? 20,
      serveMsMax: 1_000 * (decimal('seconds', values.seconds, 0.1, 3_600) ?? 6),
      seed,
      signal,
      program,
      clock,
      say,
      onKill: (report) => {
        process.stdout.write(`${head}${tableRow(report)}\n`);
        if (report.problems.length > 0) process.stdout.write(`${problemLines(report.problems)}\n`);
        head = '';
      },
    });
    const verdict =
      problems.length === 0
        ? 'nothing acknowledged was lost or doubled'
        : `${problems.length} problems; the first: ${problems[0]?.kind}: ${problems[0]?.item}`;
    process.stdout.write(`${verdict}\n`);
    return problems.length === 0 ? 0 : 1;
  } finally {
    clock.close();
  }
}

function parse() {
  const text = { type: 'string' } as const;
  return parseWords({
    help: { type: 'boolean' },
    kills: text,
    devices: text,
    attributes: text,
    seconds: text,
    seed: text,
    sigterm: { type: 'boolean' },
    programs: { type: 'boolean' },
    bundle: { type: 'boolean' },
  });
}

await runScript(main);
