import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { parse as parseYaml, YAMLParseError } from 'yaml';
import { isLasting, readPlainFile } from '../files/index.ts';
import { type Option, OPTIONS, type OptionValue, typeOf } from './options.ts';
import { isAnyAddress } from '../../lib/address.ts';
import { messageOf } from '../../lib/errors.ts';
import { type Camel, camel } from '../../lib/members.ts';
import { nearNameHint } from '../../lib/text.ts';
import { yamlFault } from '../../lib/yaml-fault.ts';

const SHOWN_LENGTH = 100;

type Table = (typeof OPTIONS)[number];
type Widen<T> = T extends { choices: readonly (infer Choice)[] }
  ? Choice
  : T extends { max: number }
    ? number
    : T extends { default: boolean }
      ? boolean
      : string;
type Value<T> = T extends { default: null } ? Widen<T> | undefined : Widen<T>;

/** One member per row of the option table: `http_port` is `config.httpPort`. */
export type Config = Readonly<{ [Row in Table as Camel<Row['name']>]: Value<Row> }>;

/**
 * From environment and configuration file to one frozen `Config`. All faults are found in one pass, so a
 * person corrects them in one go. The environment wins over the file.
 */
export class ConfigError extends Error {
  readonly faults: readonly string[];
  constructor(faults: readonly string[]) {
    super(`configuration is not usable:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

interface ConfigSource {
  environment: Readonly<Record<string, string | undefined>>;
  /** Path of a YAML file with the option names as keys; a path that cannot be read is a fault. */
  file?: string | undefined;
  /** Told of each value that cannot do what it is meant for, and with which the gateway runs all the same. */
  onDoubt?: (doubt: string) => void;
}

/** Findings, by their effect on the start. */
interface Findings {
  faults: string[];
  doubts: string[];
}

/** @throws ConfigError naming every fault: which option, what was wrong, what is allowed; a refused read that may pass */
export function loadConfig(source: ConfigSource): Config {
  const findings: Findings = { faults: [], doubts: [] };
  const { faults, doubts } = findings;
  const fromFile = source.file ? readConfigFile(source.file, findings) : {};
  const config: Record<string, OptionValue | undefined> = {};
  for (const option of OPTIONS as readonly Option[]) {
    const variable = environmentName(option);
    const text = source.environment[variable];
    const given = text !== undefined && text !== '' ? text : fromFile[option.name];
    const where = text !== undefined && text !== '' ? variable : `${source.file}: ${option.name}`;
    config[camel(option.name)] = judge(option, given, where, findings);
  }
  for (const name of Object.keys(fromFile))
    if (!OPTIONS.some((option) => option.name === name))
      faults.push(`${source.file}: ${name}: unknown option${nearNameHint(plainName(name), NAMES)}`);
  for (const name of Object.keys(source.environment))
    if (isUnknownVariable(name)) faults.push(`${name}: unknown option${nearNameHint(name, VARIABLES)}`);
  if ((config['tlsCertificate'] === undefined) !== (config['tlsPrivateKey'] === undefined))
    faults.push('tls_certificate and tls_private_key: one is of no use without the other');
  if (config['http'] === false && config['https'] === false)
    faults.push('http and https: with both off nobody else reaches the gateway');
  faults.push(...sharedPorts(config));
  if (faults.length > 0) throw new ConfigError([...doubts, ...faults]);
  for (const doubt of doubts) source.onDoubt?.(doubt);
  return Object.freeze(config) as unknown as Config;
}

/** Two listeners cannot have one port where their addresses meet. */
function sharedPorts(config: Record<string, OptionValue | undefined>): string[] {
  const listeners = [
    { name: 'http_port', port: config['httpPort'], host: config['http'] ? config['httpHost'] : '127.0.0.1' },
    { name: 'https_port', port: config['https'] ? config['httpsPort'] : 0, host: config['httpHost'] },
    { name: 'mqtt_port', port: config['mqttPort'], host: config['mqttHost'] },
    { name: 'mqtts_port', port: config['mqtts'] ? config['mqttsPort'] : 0, host: config['mqttHost'] },
  ];
  const meet = (one: unknown, other: unknown): boolean =>
    one === other || isAnyAddress(String(one)) || isAnyAddress(String(other));
  return listeners.flatMap((one, index) =>
    listeners
      .slice(index + 1)
      .filter(({ port, host }) => port && port === one.port && meet(host, one.host))
      .map(({ name, port }) => `${one.name} and ${name}: both are ${port}, each needs a port of its own`),
  );
}

/** Options as a Markdown table; README holds exactly this. */
export function optionTable(): string {
  const rows = (OPTIONS as readonly Option[]).map((option) => {
    const fallback = option.default === null ? '–' : `\`${option.default}\``;
    return `| \`${environmentName(option)}\` | \`${option.name}\` | ${allowed(option)} | ${fallback} | ${option.purpose} |`;
  });
  return ['| Environment | File | Allowed | Default | Purpose |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

/** Options for a person at a terminal: variable, what is allowed, default, purpose. */
export function optionHelp(): string {
  return (OPTIONS as readonly Option[])
    .map((option) => {
      const fallback = option.default === null ? '' : `, default ${option.default}`;
      return `  ${environmentName(option)}: ${allowed(option)}${fallback}\n      ${option.purpose}`;
    })
    .join('\n');
}

function environmentName(option: Option): string {
  return `GATEWAY_${option.name.toUpperCase()}`;
}

const NAMES = OPTIONS.map(({ name }) => name);
const VARIABLES = OPTIONS.map(environmentName);

/** A name in the file as one writes it who has seen the variable. */
function plainName(name: string): string {
  return name.toLowerCase().replace(/^gateway_/, '');
}

/** `GATEWAY_CONFIG_FILE` names the file itself and is read by the entry point. */
function isUnknownVariable(name: string): boolean {
  if (!name.startsWith('GATEWAY_') || name === 'GATEWAY_CONFIG_FILE') return false;
  return !VARIABLES.includes(name);
}

function readConfigFile(file: string, { faults, doubts }: Findings): Record<string, unknown> {
  let text: string;
  try {
    const bytes = readPlainFile(file);
    text = new TextDecoder().decode(bytes);
    if (!isUtf8(bytes)) doubts.push(`${file}: is no UTF-8, so that letters in it are lost; save it as UTF-8`);
  } catch (error) {
    if (!isLasting(error, constants.R_OK)) throw error;
    faults.push(`${file}: ${messageOf(error)}`);
    return {};
  }
  let content: unknown;
  try {
    // Its warnings go to the standard error as they are, with pieces of the text.
    content = parseYaml(text, { logLevel: 'error' });
  } catch (error) {
    const position = error instanceof YAMLParseError ? error.linePos?.[0] : undefined;
    const place = position ? `:${position.line}:${position.col}` : '';
    faults.push(`${file}${place}: ${yamlFault(messageOf(error))}`);
    return {};
  }
  if (content === null || content === undefined) return {};
  if (typeof content !== 'object' || Array.isArray(content)) {
    faults.push(`${file}: must be a mapping of option names to values`);
    return {};
  }
  return content as Record<string, unknown>;
}

function judge(option: Option, given: unknown, where: string, findings: Findings): OptionValue | undefined {
  if (given === undefined || given === null) return option.default ?? undefined;
  const refuse = (): undefined => {
    findings.faults.push(`${where}: ${shown(option, given)} is not allowed, must be ${allowed(option)}`);
    return undefined;
  };
  switch (typeOf(option)) {
    case 'integer': {
      const value = typeof given === 'string' && /^-?\d+$/.test(given) ? Number(given) : given;
      if (typeof value !== 'number' || !Number.isInteger(value)) return refuse();
      return value >= (option.min ?? value) && value <= (option.max ?? value) ? value : refuse();
    }
    case 'boolean':
      if (given === true || given === 'true' || given === '1') return true;
      return given === false || given === 'false' || given === '0' ? false : refuse();
    case 'choice':
      return typeof given === 'string' && option.choices?.includes(given) ? given : refuse();
    case 'string': {
      if (typeof given !== 'string' || given === '') return refuse();
      const [fault, doubt] = [option.check?.(given), option.doubt?.(given)];
      if (fault !== undefined) findings.faults.push(`${where}: ${shown(option, given)} ${fault}`);
      else if (doubt !== undefined) findings.doubts.push(`${where}: ${shown(option, given)} ${doubt}`);
      return given;
    }
  }
}

/** A value in a message, short; what has members is no value of any option. */
function shown(option: Option, given: unknown): string {
  if (option.secret) return '(secret)';
  if (typeof given === 'object') return Array.isArray(given) ? '[…]' : '{…}';
  const text = JSON.stringify(given);
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…"` : text;
}

function allowed(option: Option): string {
  switch (typeOf(option)) {
    case 'integer':
      return `${option.unit ? `${option.unit}, ` : ''}integer ${option.min} to ${option.max}`;
    case 'boolean':
      return 'true or false';
    case 'choice':
      return (option.choices ?? []).join(', ');
    case 'string':
      return 'text';
  }
}
