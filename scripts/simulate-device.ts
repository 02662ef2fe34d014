/** `npm run simulate`: battery inverters to play with, and for load. */
import { readFileSync } from 'node:fs';
import { runSimulator } from './simulate/command.ts';
import { parseSimulateOptions, SIMULATE_HELP } from './simulate/options.ts';
import { simulate } from './simulate/run.ts';

const STANDARD_INPUT = 0;

await runSimulator({
  name: 'simulate',
  help: SIMULATE_HELP,
  parse: parseSimulateOptions,
  play: (parts) =>
    simulate({
      ...parts,
      isLive: process.stdout.isTTY,
      readInput: () => readFileSync(STANDARD_INPUT, 'utf8'),
    }),
});
