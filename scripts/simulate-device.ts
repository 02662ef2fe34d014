/** `npm run simulate`: battery inverters to play with, and for load. */
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSystemClock } from '../src/platform/clock/index.ts';
import { messageOf } from '../src/lib/errors.ts';
import { parseSimulateOptions, SIMULATE_HELP } from './simulate/options.ts';
import { UsageError } from './support/arguments.ts';
import { createRandom } from './support/random.ts';
import { simulate } from './simulate/run.ts';
import { createTerminal } from './simulate/terminal.ts';

const STANDARD_INPUT = 0;

async function main(): Promise<number> {
  const options = parseSimulateOptions(process.argv.slice(2));
  if (!options) {
    process.stdout.write(SIMULATE_HELP);
    return 0;
  }
  const seed = options.seed ?? randomInt(2 ** 32);
  const clock = createSystemClock();
  const terminal = createTerminal(process.stdout);
  const stop = new AbortController();
  const end = (): void => stop.abort();
  process.once('SIGINT', end);
  process.once('SIGTERM', end);
  const limit = options.forMs === undefined ? undefined : clock.setTimer(options.forMs, end);
  terminal.line(`seed ${seed}`);
  try {
    await simulate({
      options,
      clock,
      random: createRandom(seed),
      terminal,
      isLive: process.stdout.isTTY,
      signal: stop.signal,
      readInput: () => readFileSync(STANDARD_INPUT, 'utf8'),
    });
  } finally {
    limit?.cancel();
    clock.close();
    terminal.close();
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const hint = error instanceof UsageError ? '\nnpm run simulate -- --help tells more' : '';
  process.stderr.write(`${messageOf(error)}${hint}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
