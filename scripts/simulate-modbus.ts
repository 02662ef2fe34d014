/** `npm run simulate-modbus`: an inverter and a power meter behind Modbus, to play with and for tests. */
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { messageOf } from '../src/lib/errors.ts';
import { runSimulator } from './simulate/command.ts';
import { parseSimulateModbusOptions, SIMULATE_MODBUS_HELP } from './simulate/modbus-options.ts';
import { simulateModbus } from './simulate/modbus-run.ts';

await runSimulator({
  name: 'simulate-modbus',
  help: SIMULATE_MODBUS_HELP,
  parse: parseSimulateModbusOptions,
  play: async ({ signal, ...parts }) => {
    const input = createInterface({ input: process.stdin });
    try {
      const simulated = await simulateModbus(parts);
      input.on('line', (line) => {
        try {
          simulated.command(line);
        } catch (error) {
          parts.terminal.line(messageOf(error));
        }
      });
      if (!signal.aborted) await once(signal, 'abort');
      await simulated.stop();
    } finally {
      input.close();
      process.stdin.destroy();
    }
  },
});
