/** The command line of the simulator. */
import { decimal, parseWords, UsageError, whole } from '../support/arguments.ts';
import { DAY_ARGUMENTS, DAY_HELP, type DayOptions, dayOf, TEXT } from './day-options.ts';
import { SERVICE_CODE } from './inverter-commands.ts';
import { type Mishap, MISHAPS } from './mishaps.ts';

export interface SimulateOptions extends DayOptions {
  /** Where the credentials come from. */
  source: { kind: 'file'; path: string } | { kind: 'gateway'; baseUrl: string; token: string };
  devices: number;
  namePrefix: string;
  qos: 0 | 1 | 2;
  intervalMs: number;
  provoke: Mishap | undefined;
}

export const SIMULATE_HELP = `Simulates battery inverters that speak MQTT with the gateway.

  npm run simulate -- --gateway URL --token TOKEN [options]   creates its devices
  npm run simulate -- --config FILE [options]                 runs an existing device

Where the credentials come from
  --gateway URL        address of the gateway, such as http://127.0.0.1:8080; provisions devices there
                       with the built-in blueprint enapter/battery-inverter; a single device with the
                       same name is reused and gets new credentials
  --token TOKEN        access token with the role OWNER or above, for --gateway
  --config FILE        connection configuration as provisioning returned it: the whole answer or its
                       member config, as JSON or base64; - reads standard input

Devices
  --devices N          number of devices (with --gateway; default 1)
  --name TEXT          name of the device, or prefix of the names (default "Battery inverter")
  --qos 0|1|2          MQTT quality of service (default 1)
  --interval SECONDS   time between telemetry messages (default 1)
  --for SECONDS        stop after this time (default: run until Ctrl-C)

The simulated day
  --time-scale FACTOR  seconds of the simulated day per real second (default 1); timestamps stay real
${DAY_HELP}
  --provoke NAME       an event at the start: ${MISHAPS.join(', ')}

Commands of the device: start, stop, set_charge_limit, set_mode, read_settings, reset_energy_counters
(its service code is ${SERVICE_CODE}).
`;

const OWN_ARGUMENTS = {
  gateway: TEXT,
  token: TEXT,
  config: TEXT,
  devices: TEXT,
  name: TEXT,
  qos: TEXT,
  interval: TEXT,
  provoke: TEXT,
} as const;

/** @returns undefined when help is asked for. @throws UsageError */
export function parseSimulateOptions(args: readonly string[]): SimulateOptions | undefined {
  const values = parseWords({ ...DAY_ARGUMENTS, ...OWN_ARGUMENTS }, args);
  if (values.help) return undefined;
  const devices = whole('devices', values.devices, 1, 2_000) ?? 1;
  return {
    source: sourceOf(values, devices),
    devices,
    namePrefix: values.name ?? 'Battery inverter',
    qos: (whole('qos', values.qos, 0, 2) ?? 1) as 0 | 1 | 2,
    intervalMs: 1_000 * (decimal('interval', values.interval, 0.1, 86_400) ?? 1),
    provoke: mishapOf(values.provoke),
    ...dayOf(values),
  };
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
