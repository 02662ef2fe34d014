/** The command line of the simulator. */
import { parseArgs } from 'node:util';
import { decimal, UsageError, whole } from '../support/arguments.ts';
import { SERVICE_CODE } from './inverter-commands.ts';
import { type Mishap, MISHAPS } from './mishaps.ts';

export interface SimulateOptions {
  /** Where the credentials come from. */
  source: { kind: 'file'; path: string } | { kind: 'gateway'; baseUrl: string; token: string };
  devices: number;
  namePrefix: string;
  qos: 0 | 1 | 2;
  intervalMs: number;
  timeScale: number;
  /** Undefined: now. */
  hourOfDay: number | undefined;
  socPercent: number;
  mishapsPerDay: number;
  provoke: Mishap | undefined;
  /** Undefined: a new one, printed. */
  seed: number | undefined;
  /** Undefined: until interrupted. */
  forMs: number | undefined;
}

export const SIMULATE_HELP = `Simulates battery inverters that talk to the gateway over MQTT.

  npm run simulate -- --gateway URL --token TOKEN [options]   makes its own devices
  npm run simulate -- --config FILE [options]                 runs a device made before

Where the credentials come from
  --gateway URL        address of the gateway, such as http://127.0.0.1:8080; provisions new devices there
                       and gives them the built-in blueprint enapter/battery-inverter
  --token TOKEN        access token with the role OWNER or above, for --gateway
  --config FILE        connection configuration as provisioning returned it, the whole answer or its
                       member config, as JSON or as base64 of it; - reads standard input

Devices
  --devices N          number of devices, for load (with --gateway; default 1)
  --name TEXT          name of the device, or the beginning of the names (default "Battery inverter")
  --qos 0|1|2          MQTT quality of service (default 1)
  --interval SECONDS   time between telemetry messages (default 1)
  --for SECONDS        stop after this time (default: run until Ctrl-C)

The simulated day
  --time-scale FACTOR  seconds of the simulated day per real second (default 1); timestamps stay real
  --hour H             time of day at the start, 0 to 24 (default: now)
  --soc PERCENT        state of charge at the start (default 55)
  --mishaps N          grid failures, stuck fans and broken lines per simulated day, each (default 1)
  --provoke NAME       one of them at the start: ${MISHAPS.join(', ')}
  --seed N             repeat a run (default: a new seed, printed)

Commands of the device: start, stop, set_charge_limit, set_mode, read_settings, reset_energy_counters
(its service code is ${SERVICE_CODE}).
`;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseSimulateOptions(args: readonly string[]): SimulateOptions | undefined {
  const values = parse(args);
  if (values.help) return undefined;
  const devices = whole('devices', values.devices, 1, 2_000) ?? 1;
  return {
    source: sourceOf(values, devices),
    devices,
    namePrefix: values.name ?? 'Battery inverter',
    qos: (whole('qos', values.qos, 0, 2) ?? 1) as 0 | 1 | 2,
    intervalMs: 1_000 * (decimal('interval', values.interval, 0.1, 86_400) ?? 1),
    timeScale: decimal('time-scale', values['time-scale'], 0.001, 100_000) ?? 1,
    hourOfDay: decimal('hour', values.hour, 0, 24),
    socPercent: decimal('soc', values.soc, 0, 100) ?? 55,
    mishapsPerDay: decimal('mishaps', values.mishaps, 0, 1_000) ?? 1,
    provoke: mishapOf(values.provoke),
    seed: whole('seed', values.seed, 0, 2 ** 32 - 1),
    forMs: milliseconds(decimal('for', values.for, 0.1, 31_536_000)),
  };
}

function parse(args: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean' },
        gateway: text,
        token: text,
        config: text,
        devices: text,
        name: text,
        qos: text,
        interval: text,
        for: text,
        'time-scale': text,
        hour: text,
        soc: text,
        mishaps: text,
        provoke: text,
        seed: text,
      },
    }).values;
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

function sourceOf(
  values: { config?: string | undefined; gateway?: string | undefined; token?: string | undefined },
  devices: number,
): SimulateOptions['source'] {
  const { config, gateway, token } = values;
  if (config !== undefined) {
    if (gateway !== undefined) throw new UsageError('give --config or --gateway, not both');
    if (devices > 1) throw new UsageError('--devices needs --gateway: a configuration is of one device');
    return { kind: 'file', path: config };
  }
  if (gateway === undefined) throw new UsageError('give --gateway and --token, or --config');
  if (!URL.canParse(gateway)) throw new UsageError('--gateway must be an address like http://127.0.0.1:8080');
  if (!token) throw new UsageError('--gateway needs --token');
  return { kind: 'gateway', baseUrl: gateway, token };
}

function mishapOf(text: string | undefined): Mishap | undefined {
  if (text === undefined) return undefined;
  const mishap = MISHAPS.find((known) => known === text);
  if (!mishap) throw new UsageError(`--provoke must be one of ${MISHAPS.join(', ')}`);
  return mishap;
}

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
}
