/** Commands of a template against an image: what they write, and whether the image expects it. */
import type { GatewayClient } from '../support/gateway-client.ts';
import { messageOf } from '../../src/lib/errors.ts';
import { UsageError } from '../support/arguments.ts';
import type { DeviceImage } from '../simulate/device-image.ts';
import type { ImageDevice } from '../simulate/image-device.ts';
import type { RegisterWrite } from './recorder.ts';
import { hex } from './register-memory.ts';

export type CommandOfImage = NonNullable<DeviceImage['commands']>[number];

export interface RanCommand {
  command: string;
  /** Registers and requests in the order in which they arrived. */
  writes: string[];
  /** Sentences; empty where all is as it should be. */
  mistakes: string[];
}

/** Where commands arrive: a device that is played, and the registers that were written on the way to it. */
export interface CommandTarget {
  device: ImageDevice;
  writes: readonly RegisterWrite[];
}

/** @param device path of the device at the gateway */
export async function runCommands(
  commands: readonly CommandOfImage[],
  device: string,
  client: GatewayClient,
  target: CommandTarget,
): Promise<RanCommand[]> {
  // What is asked for cyclically is no part of a command.
  const cyclic = new Set(target.device.requests);
  const ran: RanCommand[] = [];
  for (const command of commands) {
    const [writesBefore, requestsBefore] = [target.writes.length, target.device.requests.length];
    const refused = await execute(command, device, client);
    const registers = target.writes.slice(writesBefore);
    const requests = target.device.requests.slice(requestsBefore).filter((line) => !cyclic.has(line));
    ran.push({
      command: titleOf(command),
      writes: [...registers.map(shownWrite), ...requests],
      mistakes: refused === undefined ? mistakesOf(command, target) : [refused],
    });
  }
  return ran;
}

/** Why it did not succeed; undefined: it did. */
async function execute(
  { run, with: given = {} }: CommandOfImage,
  device: string,
  client: GatewayClient,
): Promise<string | undefined> {
  const body = { name: run, arguments: given };
  try {
    const { execution } = await client.json({ method: 'POST', path: `${device}/commands/execute`, body });
    const { state, response } = execution as { state: string; response?: { payload?: { message?: string } } };
    return state === 'SUCCESS' ? undefined : `${state}: ${response?.payload?.message ?? 'no answer'}`;
  } catch (error) {
    return messageOf(error);
  }
}

function mistakesOf({ writes = {}, requests = [] }: CommandOfImage, { device }: CommandTarget): string[] {
  const registers = Object.entries(writes).flatMap(([address, word]) => {
    const present = device.word(Number(address));
    return present === word ? [] : [`register ${address} is ${present ?? 'not written'}, not ${word}`];
  });
  const missing = requests.filter((line) => !device.requests.includes(line));
  return [...registers, ...missing.map((line) => `missing: ${line}`)];
}

const titleOf = ({ run, with: given = {} }: CommandOfImage): string =>
  [run, ...Object.entries(given).map(([name, value]) => `${name}=${String(value)}`)].join(' ');

const shownWrite = ({ table, address, words }: RegisterWrite): string =>
  `${table} ${address} = ${words.map(hex).join(' ')}`;

/** One write to a line, the command beside the first one. */
export function commandTable(ran: readonly RanCommand[]): string {
  const lines = ran.flatMap(({ command, writes }) =>
    (writes.length > 0 ? writes : ['-']).map((write, index) => [index === 0 ? command : '', write] as const),
  );
  const all = [['command', 'writes'] as const, ...lines];
  const width = Math.max(...all.map(([command]) => command.length));
  return all.map(([command, write]) => `${command.padEnd(width)}  ${write}\n`).join('');
}

/** A command as the command line has it: `set_current_limit current=10`. @throws UsageError */
export function parseCommand(text: string, manifest: Readonly<Record<string, unknown>>): CommandOfImage {
  const [run = '', ...pairs] = text.trim().split(/\s+/);
  type Declared = Record<string, { arguments?: Record<string, { type?: string }> }>;
  const declared = (manifest['commands'] ?? {}) as Declared;
  const command = Object.hasOwn(declared, run) ? declared[run] : undefined;
  const known = Object.keys(declared);
  if (!command)
    throw new UsageError(
      known.length === 0
        ? `--run ${run}: the template has no commands`
        : `--run ${run}: it is no command of the template; these are: ${known.join(', ')}`,
    );
  const given = pairs.map((pair) => {
    const [, name = '', value = ''] = /^(\w+)=(.*)$/s.exec(pair) ?? [];
    if (name === '') throw new UsageError(`--run ${text}: ${pair} must be NAME=VALUE`);
    return [name, valueOf(value, command.arguments?.[name]?.type)] as const;
  });
  return { run, with: Object.fromEntries(given) };
}

function valueOf(text: string, type: string | undefined): unknown {
  if (type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  const isNumber = (type === 'float' || type === 'integer') && text.trim() !== '';
  return isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
}
