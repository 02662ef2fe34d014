/** The command line of the Modbus simulator. */
import { parseArgs } from 'node:util';
import { decimal, UsageError, whole } from '../support/arguments.ts';
import { FAULT_HELP } from './modbus-faults.ts';
import { registerTable } from './modbus-registers.ts';

export interface SimulateModbusOptions {
  host: string;
  port: number;
  devices: number;
  /** Where to put the serial port; undefined for none. */
  serialPath: string | undefined;
  faults: readonly string[];
  timeScale: number;
  hourOfDay: number | undefined;
  socPercent: number;
  mishapsPerDay: number;
  seed: number | undefined;
  forMs: number | undefined;
}

export const SIMULATE_MODBUS_HELP = `Simulates a hybrid inverter and a power meter that speak Modbus.

  npm run simulate-modbus -- [options]

  --host ADDRESS       address to listen on (default 127.0.0.1)
  --port N             TCP port (default 1502; 0 takes a free one)
  --devices N          so many devices on ports from --port on, each with its own day (default 1)
  --serial PATH        also serves the first device as Modbus RTU on a pseudo-terminal that appears at PATH
                       (needs the program socat)
  --fault "WORDS"      a fault from the start, see below; may be given several times
  --for SECONDS        stop after this time (default: run until Ctrl-C)

The simulated day
  --time-scale FACTOR  seconds of the simulated day per real second (default 1)
  --hour H             time of day at the start, 0 to 24 (default: now)
  --soc PERCENT        state of charge at the start (default 55)
  --mishaps N          grid failures, stuck fans and broken lines per simulated day, each (default 1)
  --seed N             repeat a run (default: a new seed, printed)

Faults: typed as lines while it runs, they hold for every device until "ok"
${FAULT_HELP}

Registers (function codes 1 to 6, 15, 16; addresses as on the wire; 32 bits: high word first)
${registerTable()}
`;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseSimulateModbusOptions(args: readonly string[]): SimulateModbusOptions | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const port = whole('port', values.port, 0, 65_535) ?? 1_502;
  const devices = whole('devices', values.devices, 1, 500) ?? 1;
  if (port + devices > 65_536) throw new UsageError('--port and --devices lead beyond the last port');
  const forS = decimal('for', values.for, 0.1, 31_536_000);
  return {
    host: values.host ?? '127.0.0.1',
    port,
    devices,
    serialPath: values.serial,
    faults: values.fault ?? [],
    timeScale: decimal('time-scale', values['time-scale'], 0.001, 100_000) ?? 1,
    hourOfDay: decimal('hour', values.hour, 0, 24),
    socPercent: decimal('soc', values.soc, 0, 100) ?? 55,
    mishapsPerDay: decimal('mishaps', values.mishaps, 0, 1_000) ?? 1,
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    forMs: forS === undefined ? undefined : forS * 1_000,
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean' },
        host: text,
        port: text,
        devices: text,
        serial: text,
        fault: { type: 'string', multiple: true },
        for: text,
        'time-scale': text,
        hour: text,
        soc: text,
        mishaps: text,
        seed: text,
      },
    }).values;
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}
