/** The settings of a device that say whether it is on a network or a serial line, whatever its blueprint calls them. */
import type { Declared, Texts } from './arguments.ts';

/** A parameter that holds the id of a unit. */
export interface UnitParameter {
  name: string;
  title: string;
  /** Undefined: none is typed, or none that can be. */
  id: number | undefined;
}

/** As the operations of the API take it. */
export interface FieldPlace {
  uri: string;
  baud_rate?: number;
  parity?: string;
  stop_bits?: number;
}

export interface FieldSettings {
  /** Undefined: it is not typed yet. */
  place: FieldPlace | undefined;
  units: readonly UnitParameter[];
}

const UNIT = /(?:^|_)(?:unit|slave|modbus|server|device)_?(?:id|address|addr|number)?$/i;
const HOST = /^(?:modbus_|device_)?(?:ip|host|hostname|ip_?addr|ip_?address|address)$/i;
const MODBUS_PORT = '502';

/** Undefined: the settings are not about a place where Modbus is spoken. */
export function fieldSettings(declared: Declared, texts: Texts): FieldSettings | undefined {
  const parameters = Object.entries(declared).map(([name, argument]) => ({
    name,
    argument,
    text: (texts[name] ?? '').trim(),
  }));
  const units = parameters
    .filter(({ name, argument }) => argument.type === 'integer' && UNIT.test(name))
    .map(({ name, argument, text }) => ({ name, title: argument.display_name, id: unitOf(text) }));
  const uri = parameters.find(
    ({ argument, text }) =>
      argument.format === 'connection_uri' || (argument.type === 'string' && isUri(text)),
  );
  if (uri) return { place: isUri(uri.text) ? { uri: uri.text } : undefined, units };
  const host = parameters.find(({ name, argument }) => argument.type === 'string' && HOST.test(name));
  const port = parameters.find(
    ({ name, argument }) => argument.type === 'integer' && /(?:^|_)port$/i.test(name),
  );
  if (host && (units.length > 0 || port?.text === MODBUS_PORT))
    return { place: host.text === '' ? undefined : { uri: uriOf(host.text, port?.text) }, units };
  const line = lineOf(parameters);
  return line && { place: line, units };
}

function unitOf(text: string): number | undefined {
  return /^\d{1,3}$/.test(text) && Number(text) <= 255 ? Number(text) : undefined;
}

function isUri(text: string): boolean {
  return /^(?:tcp|rtu\+tcp|tcp\+serial|socket|port):\/\/\S+$/i.test(text);
}

function uriOf(host: string, port = ''): string {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host;
  return `tcp://${name}${port === '' ? '' : `:${port}`}`;
}

/** Blueprints for a module with one line ask for its speed, and not for its name. */
function lineOf(parameters: readonly { name: string; text: string }[]): FieldPlace | undefined {
  const textOf = (name: RegExp): string | undefined => parameters.find((one) => name.test(one.name))?.text;
  const baud = textOf(/^baud_?rate$/i);
  if (baud === undefined) return undefined;
  const parity = /^[neo]/i.exec(textOf(/^parity$/i) ?? '')?.[0].toUpperCase();
  const stopBits = Number(textOf(/^stop_?bits$/i));
  return {
    uri: 'port://rs485',
    ...(/^\d{2,7}$/.test(baud) && { baud_rate: Number(baud) }),
    ...(parity !== undefined && { parity }),
    ...((stopBits === 1 || stopBits === 2) && { stop_bits: stopBits }),
  };
}
