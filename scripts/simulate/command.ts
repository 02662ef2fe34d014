/** What running a simulator from a terminal needs: help, a seed to repeat it, an end, and the exit code. */
import { randomInt } from 'node:crypto';
import { messageOf } from '../../src/lib/errors.ts';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import { UsageError } from '../support/arguments.ts';
import { createRandom, type Random } from '../support/random.ts';
import type { DayOptions } from './day-options.ts';
import { createTerminal, type Terminal } from './terminal.ts';

export interface Simulator<Options> {
  /** Name of the npm script. */
  name: string;
  help: string;
  /** @returns undefined when help is asked for. @throws UsageError */
  parse: (args: readonly string[]) => Options | undefined;
  /** Runs until the signal: an interrupt, or the end of `--for`. */
  play: (parts: {
    options: Options;
    clock: Clock;
    random: Random;
    terminal: Terminal;
    signal: AbortSignal;
  }) => Promise<void>;
}

/** Sets the exit code: 2 for a wrong command line, 1 for what went wrong later. */
export async function runSimulator<Options extends DayOptions>(simulator: Simulator<Options>): Promise<void> {
  try {
    await run(simulator);
  } catch (error) {
    const hint = error instanceof UsageError ? `\nnpm run ${simulator.name} -- --help tells more` : '';
    process.stderr.write(`${messageOf(error)}${hint}\n`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

async function run<Options extends DayOptions>({ help, parse, play }: Simulator<Options>): Promise<void> {
  const options = parse(process.argv.slice(2));
  if (!options) {
    process.stdout.write(help);
    return;
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
    await play({ options, clock, random: createRandom(seed), terminal, signal: stop.signal });
  } finally {
    limit?.cancel();
    clock.close();
    terminal.close();
  }
}
