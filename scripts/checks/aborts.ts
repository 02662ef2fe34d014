/** `npm run check -- aborts`: does a caller that goes away cost anybody else anything? */
import { randomInt } from 'node:crypto';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { abortCheck } from './aborts/run.ts';
import { parseWords, runScript, whole } from '../support/arguments.ts';

const HELP = `Sends requests to every operation and stream of a gateway and disconnects at random moments.

  npm run check -- aborts [options]

  --count N   number of callers that disconnect (default 10000)
  --seed N    repeat the requests and moments of a run (default: a new seed, printed)
  --bundle    run the output of npm run build instead of the sources
  --help      this text

A caller disconnects after connecting (over TLS: during the handshake), in the middle of its request, after
several requests at once, while it waits, or in the middle of the answer: by a reset, by closing, or by closing
one side. Afterwards the gateway must work, with no error in its log, no file left over, and no more files and
sockets open than before; otherwise the exit code is 1. Uses a temporary data folder and free ports.
`;

async function main(): Promise<number> {
  const values = parseWords({
    count: { type: 'string' },
    seed: { type: 'string' },
    bundle: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  });
  const say = (text: string): void => void process.stdout.write(`${text}\n`);
  if (values.help) {
    say(HELP);
    return 0;
  }
  const seed = whole('seed', values.seed, 0, 2 ** 32 - 1) ?? randomInt(2 ** 32);
  const count = whole('count', values.count, 1, 1_000_000) ?? 10_000;
  say(`seed ${seed}`);
  const clock = createSystemClock();
  try {
    const program = values.bundle ? 'bundle' : 'source';
    const report = await abortCheck({ count, seed, program, clock, say });
    say(`${report.aborts} callers left, from ${report.operations} operations and streams`);
    for (const [moment, times] of [...report.byMoment].toSorted(([a], [b]) => a.localeCompare(b)))
      say(`  ${moment.padEnd(24)} ${times}`);
    say(report.problems.length === 0 ? 'nothing is left of them' : report.problems.join('\n'));
    return report.problems.length === 0 ? 0 : 1;
  } finally {
    clock.close();
  }
}

await runScript(main);
