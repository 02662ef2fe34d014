/** `npm run check -- targets`: does everything arrive once where it is carried to, whatever goes away meanwhile? */
import { randomInt } from 'node:crypto';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { missingForDisks } from './faults/disk.ts';
import { hasOwnMounts, runWithOwnMounts } from './faults/own-mounts.ts';
import { PROGRAMS } from '../build.ts';
import { decimal, parseWords, runScript, whole } from '../support/arguments.ts';
import { packPrograms } from '../support/packed-programs.ts';
import { targetCheck, type TargetCheckReport } from './targets/run.ts';

const HELP = `Sends workload W through a gateway to Mosquitto, InfluxDB and VictoriaMetrics at once and reads all of it back.

  npm run check -- targets [options]

  --hours H         length of the workload (default 24)
  --devices N       devices with 20 attributes each at 1 Hz (default 10)
  --speed N         seconds of the workload per real second, at most (default 100)
  --seed N          repeat the faults and moments of a run (default: a new seed, printed)
  --newest-first    targets get new samples at once and missed ones afterwards
  --source          run the sources instead of bundling them first

Each server is away for six hours, for minutes and for seconds: killed, ended or frozen. The gateway is killed and, with root
and loop devices, loses its power at random moments. At the end, count and checksum of every series in the gateway and in every
target must equal what the devices sent. Meanwhile the broker sends commands with deadlines of seconds, some of them twice;
each must reach the device in time and only once. A server that is not installed is skipped with a message. Uses temporary
folders and free ports. The exit code is 1 if anything is missing, different or late.
`;

const HOUR_S = 3_600;
const PROBLEMS_SHOWN = 20;

async function main(): Promise<number> {
  const text = { type: 'string' } as const;
  const values = parseWords({
    help: { type: 'boolean' },
    source: { type: 'boolean' },
    'newest-first': { type: 'boolean' },
    hours: text,
    devices: text,
    speed: text,
    seed: text,
  });
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  if (values.help) {
    say(HELP);
    return 0;
  }
  if (missingForDisks().length === 0 && !hasOwnMounts()) return runWithOwnMounts();
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? randomInt(2 ** 31);
  say(`seed ${seed}`);
  const clock = createSystemClock();
  const packed = values.source ? undefined : await packPrograms(PROGRAMS);
  try {
    const report = await targetCheck({
      seed,
      devices: whole('devices', values.devices, 1, 50) ?? 10,
      seconds: Math.round((decimal('hours', values.hours, 0.02, 168) ?? 24) * HOUR_S),
      speed: decimal('speed', values.speed, 1, 100_000) ?? 100,
      program: packed ?? 'source',
      isNewestFirst: values['newest-first'] ?? false,
      clock,
      say,
    });
    tell(report, say);
    return report.problems.length === 0 ? 0 : 1;
  } finally {
    clock.close();
    packed?.remove();
  }
}

function tell(report: TargetCheckReport, say: (line: string) => void): void {
  const { values, happenings, messages, repeated, requests, tookMs, problems } = report;
  say(`${values} values, ${happenings} faults and returns, ${Math.round(tookMs / 1_000)} s`);
  if (messages > 0)
    say(`${messages} messages to the subscriber, ${repeated} values of them again as they were`);
  if (requests)
    say(
      `${requests.asked} commands asked for, ${requests.askedTwice} of them twice: ${requests.carriedOut} carried out, ${requests.answered} answered`,
    );
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) say(`  ${problem}`);
  say(
    problems.length === 0
      ? 'count and checksum of every series are the same everywhere; no command was late, none came twice'
      : `${problems.length} problems`,
  );
}

await runScript(main);
