/** The command line of the Modbus simulator. */
import { parseWords, UsageError, whole } from '../support/arguments.ts';
import { DAY_ARGUMENTS, DAY_HELP, type DayOptions, dayOf, TEXT } from './day-options.ts';
import { FAULT_HELP } from './modbus-faults.ts';
import { registerTable } from './modbus-registers.ts';

export interface SimulateModbusOptions extends DayOptions {
  host: string;
  port: number;
  devices: number;
  /** Where to put the serial port; undefined for none. */
  serialPath: string | undefined;
  faults: readonly string[];
  /** An image of a device to play instead of the two; undefined for none. */
  imagePath: string | undefined;
}

export const SIMULATE_MODBUS_HELP = `Simulates a hybrid inverter and a power meter that speak Modbus.

  npm run simulate-modbus -- [options]

  --host ADDRESS       address to listen on (default 127.0.0.1)
  --port N             TCP port (default 1502; 0 takes a free one)
  --devices N          number of devices, on consecutive ports from --port on, each with its own day (default 1)
  --serial PATH        also serve the first device as Modbus RTU on a pseudo-terminal at PATH
                       (needs the program socat)
  --image FILE         play the registers of an image instead: a field trace of a device, what
                       \`try-template --record\` wrote, or one of test/library/images/
  --fault "WORDS"      a fault from the start, see below; repeatable
  --for SECONDS        stop after this time (default: run until Ctrl-C)

The simulated day
  --time-scale FACTOR  seconds of the simulated day per real second (default 1)
${DAY_HELP}

Faults: type them as lines while it runs; they apply to every device until "ok"
${FAULT_HELP}

Registers (function codes 1 to 6, 15, 16, 22, 23; addresses as on the wire; 32 bits: high word first)
${registerTable()}

Both units identify themselves by the SunSpec common model at 40000 and by function 43/14.
`;

const OWN_ARGUMENTS = {
  host: TEXT,
  port: TEXT,
  devices: TEXT,
  serial: TEXT,
  image: TEXT,
  fault: { type: 'string', multiple: true },
} as const;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseSimulateModbusOptions(args: readonly string[]): SimulateModbusOptions | undefined {
  const values = parseWords({ ...DAY_ARGUMENTS, ...OWN_ARGUMENTS }, args);
  if (values.help) return undefined;
  const port = whole('port', values.port, 0, 65_535) ?? 1_502;
  const devices = whole('devices', values.devices, 1, 500) ?? 1;
  if (port + devices > 65_536) throw new UsageError('--port and --devices lead beyond the last port');
  if (values.image !== undefined && (values.serial !== undefined || values.fault || devices > 1))
    throw new UsageError('--image plays one device without --serial, --fault and --devices');
  return {
    host: values.host ?? '127.0.0.1',
    port,
    devices,
    serialPath: values.serial,
    faults: values.fault ?? [],
    imagePath: values.image,
    ...dayOf(values),
  };
}
