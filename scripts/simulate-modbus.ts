/** `npm run simulate-modbus`: an inverter and a power meter behind Modbus, to play with and for tests. */
import { randomInt } from 'node:crypto';
import { createInterface } from 'node:readline';
import { messageOf } from '../src/lib/errors.ts';
import { createSystemClock } from '../src/platform/clock/index.ts';
import { parseSimulateModbusOptions, SIMULATE_MODBUS_HELP } from './simulate/modbus-options.ts';
import { simulateModbus } from './simulate/modbus-run.ts';
import { createTerminal } from './simulate/terminal.ts';
import { UsageError } from './support/arguments.ts';
import { createRandom } from './support/random.ts';

async function main(): Promise<number> {
  const options = parseSimulateModbusOptions(process.argv.slice(2));
  if (!options) {
    process.stdout.write(SIMULATE_MODBUS_HELP);
    return 0;
  }
  const seed = options.seed ?? randomInt(2 ** 32);
  const clock = createSystemClock();
  const terminal = createTerminal(process.stdout);
  const ended = Promise.withResolvers<void>();
  process.once('SIGINT', () => ended.resolve());
  process.once('SIGTERM', () => ended.resolve());
  const limit = options.forMs === undefined ? undefined : clock.setTimer(options.forMs, ended.resolve);
  terminal.line(`seed ${seed}`);
  const input = createInterface({ input: process.stdin });
  try {
    const simulated = await simulateModbus({ options, clock, random: createRandom(seed), terminal });
    input.on('line', (line) => {
      try {
        simulated.command(line);
      } catch (error) {
        terminal.line(messageOf(error));
      }
    });
    await ended.promise;
    await simulated.stop();
  } finally {
    input.close();
    process.stdin.destroy();
    limit?.cancel();
    clock.close();
    terminal.close();
  }
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const hint = error instanceof UsageError ? '\nnpm run simulate-modbus -- --help tells more' : '';
  process.stderr.write(`${messageOf(error)}${hint}\n`);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
