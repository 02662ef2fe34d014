/**
 * Every option of the gateway: one table, from which the environment, the configuration file, the checks
 * and README's section are made.
 */
import { isIP } from 'node:net';
import { normalize } from 'node:path';
import { parseDeclaredPort } from '../../lib/address.ts';
import { LIMITS } from '../../lib/limits.ts';
import { normalizedName, storedNameProblem } from '../../lib/text.ts';
import { canonicalTimeZone, type DurationMs } from '../../lib/time.ts';

export type OptionValue = string | number | boolean;

/** Its type follows from its members: names to choose from, bounds of a whole number, a default that is true or false. */
export interface Option {
  /** Key in the configuration file; `GATEWAY_` + upper case is the environment variable. */
  name: string;
  /** `null`: no value unless given. */
  default: OptionValue | null;
  /** Unit of an integer, for the table. */
  unit?: string;
  min?: number;
  max?: number;
  choices?: readonly string[];
  /** The fault of a string value; `undefined` when it is fine. */
  check?: (value: string) => string | undefined;
  /** Likewise, of a value with which the gateway runs all the same, without what it was meant for. */
  doubt?: (value: string) => string | undefined;
  secret?: boolean;
  /** One sentence. */
  purpose: string;
}

export type OptionType = 'choice' | 'integer' | 'boolean' | 'string';

export function typeOf({ choices, max, default: usual }: Option): OptionType {
  if (choices) return 'choice';
  if (max !== undefined) return 'integer';
  return typeof usual === 'boolean' ? 'boolean' : 'string';
}

const SAMPLE_DAYS_MAX = 36_500;
const MDNS_NAME = /^[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?$/i;

const port = { unit: 'TCP port', min: 0, max: 65_535 } as const;
const rate = { min: 1, max: 1_000_000 } as const;
const days = { unit: 'days', min: 8, max: 36_500 } as const;

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*\.?$/i;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@A-Z]+$/;

function hostFault(host: string): string | undefined {
  if (/[[\]]/.test(host)) return 'must be without brackets';
  if (isIP(host) !== 0 || (HOST_NAME.test(host) && !/^[\d.]+$/.test(host))) return undefined;
  return 'must be a name such as box.local or an address such as 10.0.0.7, without http:// and port';
}

/** A text pasted in the place of a file name may be a secret, and is not logged. */
const pathFault = (path: string): string | undefined =>
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u001f]/.test(path) ? 'must be the path of a file, not what the file holds' : undefined;

const filePath = { default: null, doubt: pathFault, secret: true } as const;

function originsFault(value: string): string | undefined {
  const wrong = value.split(',').find((origin) => origin.trim() !== '*' && !ORIGIN.test(origin.trim()));
  if (wrong === undefined) return undefined;
  return 'must be * or a list such as https://app.example,http://10.0.0.7:3000, in lower case and without a path';
}

function networksFault(value: string): string | undefined {
  const wrong = value.split(',').find((network) => {
    const [address = '', prefix, ...more] = network.trim().split('/');
    const bits = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
    return (
      bits < 0 ||
      more.length > 0 ||
      (prefix !== undefined && !(/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits))
    );
  });
  return wrong === undefined
    ? undefined
    : 'must be a list of addresses and networks such as 127.0.0.1,10.0.0.0/8';
}

const SAMPLE_DAYS = /^[^,=]+=\d{1,5}(,[^,=]+=\d{1,5})*$/;
const SAMPLE_DAYS_ALLOWED = `must be a list such as noise_level=30,wind_direction=60, of 1 to ${SAMPLE_DAYS_MAX} days each`;

function sampleDaysDoubt(value: string): string | undefined {
  const pairs = value.split(',').map((pair) => pair.split('='));
  const areUsable = pairs.every(([, days]) => Number(days) >= 1 && Number(days) <= SAMPLE_DAYS_MAX);
  return areUsable ? repeatedFault(pairs.map(([name]) => name?.trim())) : SAMPLE_DAYS_ALLOWED;
}

function serialPortsFault(value: string): string | undefined {
  const ports = value.split(',').map(parseDeclaredPort);
  if (ports.includes(undefined))
    return 'must be a list such as rs485=/dev/ttyUSB0:9600:8N1,rs232=socket://192.168.1.30:4001';
  const repeated = repeatedFault(ports.map((port) => normalize(port?.path ?? '')));
  return (
    repeatedFault(ports.map((port) => port?.name)) ??
    (repeated && `${repeated}, but a device has one name and one line setting: leave it in one port`)
  );
}

function repeatedFault(names: readonly (string | undefined)[]): string | undefined {
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  return repeated === undefined ? undefined : `has ${repeated} more than once`;
}

export const OPTIONS = [
  {
    name: 'data_dir',
    default: 'data',
    purpose: 'Folder of the databases, backups and the claim code; relative to the working folder.',
  },
  {
    name: 'secrets_key_file',
    ...filePath,
    purpose:
      'File of the key that seals passwords of targets, channels and backups, outside of data_dir; made when it is missing. Without this option it lies beside data_dir, with .key at the end.',
  },
  {
    name: 'http_host',
    default: '0.0.0.0',
    check: hostFault,
    purpose:
      'Address on which the HTTP API listens; `::` means all of IPv6 and IPv4, 127.0.0.1 only this machine and a proxy on it.',
  },
  {
    name: 'http',
    default: true,
    purpose:
      'Serves plain HTTP on the address of http_host; with false only this machine may use it, and others need HTTPS.',
  },
  { name: 'http_port', ...port, default: 8_080, purpose: 'Port of the HTTP API; 0 picks a free one.' },
  { name: 'https', default: true, purpose: 'Serves the same over TLS, on the address of http_host.' },
  { name: 'https_port', ...port, default: 8_443, purpose: 'Port of HTTPS; 0 picks a free one.' },
  {
    name: 'tls_certificate',
    ...filePath,
    purpose:
      'PEM file of a certificate with its chain for HTTPS, instead of one made here; read again when it changes.',
  },
  {
    name: 'tls_private_key',
    ...filePath,
    purpose: 'PEM file of the private key of tls_certificate, without a password.',
  },
  {
    name: 'http_requests_per_second',
    unit: 'requests/s',
    ...rate,
    default: 50,
    purpose: 'Rate of requests that one access token may sustain.',
  },
  {
    name: 'http_request_burst',
    unit: 'requests',
    ...rate,
    default: 200,
    purpose: 'Requests that one access token may send at once above its rate.',
  },
  {
    name: 'mqtt_host',
    default: '0.0.0.0',
    check: hostFault,
    purpose: 'Address on which the MQTT broker listens; `::` is all of IPv6 and IPv4.',
  },
  { name: 'mqtt_port', ...port, default: 1_883, purpose: 'Port of plain MQTT; 0 picks a free one.' },
  {
    name: 'mqtts',
    default: true,
    purpose: 'Listens for MQTT over TLS, with certificates for devices, on the address of mqtt_host.',
  },
  { name: 'mqtts_port', ...port, default: 8_883, purpose: 'Port of MQTT over TLS; 0 picks a free one.' },
  {
    name: 'mqtt_messages_per_second',
    unit: 'messages/s',
    ...rate,
    default: 100,
    purpose: 'Rate of messages that one set of MQTT credentials may sustain.',
  },
  {
    name: 'mqtt_message_burst',
    unit: 'messages',
    ...rate,
    default: 500,
    purpose: 'Messages that one set of MQTT credentials may send at once above its rate.',
  },
  {
    name: 'public_host',
    default: null,
    doubt: hostFault,
    purpose:
      'Name or address of the gateway from outside, in connection configurations and for pages behind a proxy; otherwise the host of the request.',
  },
  {
    name: 'trusted_proxies',
    default: null,
    doubt: networksFault,
    purpose:
      'Addresses and networks of reverse proxies whose word about the caller counts (docs/proxy.md), such as 127.0.0.1,10.0.0.0/8.',
  },
  { name: 'mdns', default: true, purpose: 'Announces the gateway on the local network as mdns_name.local.' },
  {
    name: 'mdns_name',
    default: 'energy-gateway',
    check: (value) =>
      MDNS_NAME.test(value)
        ? undefined
        : 'must have 1 to 30 letters, digits and hyphens, none of them at the ends',
    purpose: 'Name on the local network, without .local; name-2 and so on if another machine has it.',
  },
  {
    name: 'site_name',
    default: null,
    check: (value) => storedNameProblem(normalizedName(value), LIMITS.http.nameLength),
    purpose: 'Name of the site that the first start creates; otherwise the host name.',
  },
  {
    name: 'site_timezone',
    default: 'UTC',
    check: (value) =>
      canonicalTimeZone(value) === undefined ? 'must be an IANA time zone such as Europe/Berlin' : undefined,
    purpose: 'Time zone of the site that the first start creates.',
  },
  {
    name: 'provision_file',
    ...filePath,
    purpose:
      'YAML file that the first start applies: site, users, blueprints, targets, devices, tariffs, rules, notifications (docs/fleet.md).',
  },
  {
    name: 'anonymous_role',
    choices: ['NONE', 'READONLY'],
    default: 'NONE',
    purpose: 'Role of HTTP calls without a token.',
  },
  {
    name: 'blueprint_checks',
    choices: ['STRICT', 'LENIENT'],
    default: 'STRICT',
    purpose:
      'LENIENT accepts blueprints with unknown or unfulfilled profiles and missing Lua packages or modules; the service log names them.',
  },
  {
    name: 'built_in_module',
    default: true,
    purpose: 'Whether the gateway runs a communication module of its own, for Lua devices.',
  },
  { name: 'rule_sandbox', default: true, purpose: 'Whether the rules of the site run.' },
  {
    name: 'serial_ports',
    default: null,
    check: serialPortsFault,
    purpose:
      'Serial ports of the built-in module, separated by commas: name=device file, optionally with speed and format after colons, or name=socket://host:port of a serial server.',
  },
  {
    name: 'command_timeout_s',
    unit: 's',
    min: 1,
    max: 3_600,
    default: 60,
    purpose: 'Silence of a device after which a command execution ends as TIMEOUT.',
  },
  {
    name: 'telemetry_sample_days',
    ...days,
    default: 730,
    purpose: 'Days for which every sample of telemetry is kept; afterwards one-minute averages remain.',
  },
  {
    name: 'telemetry_sample_days_of',
    default: null,
    check: (value) => (SAMPLE_DAYS.test(value) ? undefined : SAMPLE_DAYS_ALLOWED),
    doubt: sampleDaysDoubt,
    purpose: 'Other days for single attributes, as attribute=days separated by commas.',
  },
  {
    name: 'telemetry_minute_days',
    ...days,
    default: 1_825,
    purpose: 'Days for which one-minute averages are kept; afterwards quarter-hour averages remain.',
  },
  {
    name: 'telemetry_quarter_days',
    ...days,
    default: 7_300,
    purpose: 'Days for which quarter-hour averages are kept.',
  },
  {
    name: 'telemetry_open_samples',
    unit: 'samples',
    min: 10_000,
    max: 4_000_000,
    default: 2_000_000,
    purpose:
      'Samples that the journal holds before history.db takes them; fewer need less memory and restart quicker, more spare the flash.',
  },
  {
    name: 'history_max_mib',
    unit: 'MiB',
    min: 64,
    max: 4_194_304,
    default: 8_192,
    purpose:
      'Limit of the whole history: telemetry, its journal, logs, copies set aside. The oldest data is deleted early to stay below it.',
  },
  {
    name: 'cors_origins',
    default: null,
    doubt: originsFault,
    purpose: 'Origins that browsers may call the API from, separated by commas; `*` for any.',
  },
  {
    name: 'log_level',
    choices: ['debug', 'info', 'warn', 'error'],
    default: 'info',
    purpose: 'Least severity written to the service log.',
  },
  {
    name: 'log_format',
    choices: ['auto', 'json', 'journal', 'text'],
    default: 'auto',
    purpose: 'Form of the service log; auto is text on a terminal, journal under systemd, else json.',
  },
] as const satisfies readonly Option[];

/** Variables of a service manager in the environment (sd_notify(3), sd_watchdog_enabled(3)). */
interface ServiceManager {
  /** Where notices go; undefined when nobody waits for them. */
  notifySocket: string | undefined;
  /** Silence after which the manager restarts the process; undefined: it does not watch. */
  watchdogMs: DurationMs | undefined;
}

/** A watchdog meant for another process (`WATCHDOG_PID`) is none. */
export function readServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  processId: number,
): ServiceManager {
  const { NOTIFY_SOCKET: notifySocket, WATCHDOG_USEC: period, WATCHDOG_PID: watched } = environment;
  const isOurs = watched === undefined || watched === String(processId);
  const watchdogMs =
    period !== undefined && /^[1-9]\d{0,15}$/.test(period) ? Number(period) / 1_000 : undefined;
  return { notifySocket: notifySocket || undefined, watchdogMs: isOurs ? watchdogMs : undefined };
}
