/** Simulated Modbus devices on a port of their own and, where the program socat is there, on a serial line. */
import assert from 'node:assert/strict';
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { parseSimulateModbusOptions } from '../../scripts/simulate/modbus-options.ts';
import { type SimulatedModbus, simulateModbus } from '../../scripts/simulate/modbus-run.ts';
import { hasPseudoTerminals } from '../../scripts/simulate/pseudo-terminal.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { until } from './until.ts';
import { temporaryFolder } from './workspace.ts';

export const NO_SERIAL_LINE = hasPseudoTerminals() ? false : 'socat makes the serial line';

interface Played {
  simulated: SimulatedModbus;
  /** As scripts write it. */
  uri: string;
  /** Options of a gateway whose own module may use them. */
  environment: Record<string, string>;
}

/** Runs until the end of the test. */
export async function playModbus(owner: { after: (end: () => unknown) => void }): Promise<Played> {
  const clock = createSystemClock();
  owner.after(() => clock.close());
  const line = join(temporaryFolder(owner), 'line');
  const serial = NO_SERIAL_LINE === false ? ['--serial', line] : [];
  const options = parseSimulateModbusOptions(['--port', '0', ...serial]) ?? assert.fail();
  const simulated = await simulateModbus({
    options,
    clock,
    random: createRandom(5),
    terminal: { line: () => undefined },
  });
  owner.after(() => simulated.stop());
  if (serial.length > 0) await until(() => existsSync(line));
  return {
    simulated,
    uri: `tcp://127.0.0.1:${simulated.servers[0]?.port}`,
    environment: {
      GATEWAY_BUILT_IN_MODULE: 'true',
      ...(serial.length > 0 && { GATEWAY_SERIAL_PORTS: `rs485=${realpathSync(line)}` }),
    },
  };
}
