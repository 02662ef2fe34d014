/** The options of `output.request` (docs/interface/lua-rules.md#outputs), judged. */
import { invalidBody } from '../../lib/errors.ts';
import { writableArguments } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { RULE_ROLE } from '../../lib/role.ts';
import { nearNameHint } from '../../lib/text.ts';
import type { OutputParameters } from '../../protocol/output.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';
import type { Commands } from '../commands/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import type { AskingRule, Bounds, OutputCommand, OutputRequest } from './model.ts';
import { planOf } from './plan.ts';

type Options = OutputParameters['options'];
type Table = Record<string, JsonValue>;

const NAMES = ['priority', 'valid_s', 'repeat_s', 'safe', 'min', 'max', 'output', 'plan', 'commands'];
const PRIORITY_DEFAULT = 50;

interface Judges {
  devices: Pick<Devices, 'manifest'>;
  commands: Pick<Commands, 'check'>;
}

/** @throws GatewayError whose message is for the script */
export function judgedRequest(
  { devices, commands }: Judges,
  rule: AskingRule,
  device: Device,
  { name, arguments: given, options }: OutputParameters,
): OutputRequest {
  const { outputs: limits } = LIMITS;
  const unknown = Object.keys(options).find((option) => !NAMES.includes(option));
  if (unknown !== undefined)
    throw invalidBody('', `output.request has no option "${unknown}"${nearNameHint(unknown, NAMES)}`);
  const judge = (command: { name: string; arguments: Table }): OutputCommand => {
    const request = { ...command, arguments: writableArguments(command.arguments) };
    return commands.check(device, { ...request, ephemeral: true, isFromLua: true }, RULE_ROLE);
  };
  const min = boundsOf(options, 'min');
  const max = boundsOf(options, 'max');
  // Requests with bounds alone need no arguments: the name identifies the output.
  const asked = given && judge({ name, arguments: given });
  const command = asked ?? { name: declaredName(devices, device, name) };
  const declared = devices.manifest(device).commands[command.name]?.arguments ?? {};
  const rounded = (bounds: Bounds, round: (value: number) => number): Bounds =>
    Object.fromEntries(
      Object.entries(bounds).map(([argument, value]) => {
        const type = declared[argument]?.type;
        if (type !== 'integer' && type !== 'float')
          throw invalidBody('', `command "${name}" has no numeric argument "${argument}" to be bounded`);
        return [argument, type === 'integer' ? round(value) : value];
      }),
    );
  const safe = safeCommand(options['safe'], name);
  if (asked && !safe) throw invalidBody('', 'output.request needs the option "safe"');
  return {
    rule,
    deviceId: device.id,
    part: partOf(options['output']),
    name: command.name,
    commands: namesIn(options).map((other) => declaredName(devices, device, other)),
    arguments: asked ? asked.arguments : undefined,
    safe: asked && safe ? judge(safe) : undefined,
    min: rounded(min, Math.ceil),
    max: rounded(max, Math.floor),
    priority: numberOf(options, 'priority', PRIORITY_DEFAULT, 0, limits.priorityMax),
    validMs: 1_000 * numberOf(options, 'valid_s', limits.validDefaultS, 1, limits.validMaxS),
    repeatMs:
      1_000 * numberOf(options, 'repeat_s', limits.repeatDefaultS, limits.repeatMinS, limits.repeatMaxS),
    plan: planOf(options['plan']),
  };
}

/** Which output of a device is meant; absent: the one that its commands make. */
export function partOf(given: JsonValue | undefined): string {
  if (given === undefined || given === null) return '';
  if (typeof given !== 'string' || Buffer.byteLength(given) > LIMITS.outputs.partBytes)
    throw invalidBody('', `option "output" must be a text of at most ${LIMITS.outputs.partBytes} bytes`);
  return given;
}

/** @throws GatewayError */
export function declaredName(devices: Judges['devices'], device: Device, name: string): string {
  const { commands } = devices.manifest(device);
  if (Object.hasOwn(commands, name)) return name;
  const found = Object.keys(commands).find((key) => commands[key]?.aliases.includes(name));
  if (found === undefined) throw invalidBody('', `The device's blueprint has no command "${name}".`);
  return found;
}

/** An empty Lua table comes as an object. */
function namesIn({ commands = [] }: Options): string[] {
  const names = isObject(commands) ? Object.values(commands) : commands;
  if (
    Array.isArray(names) &&
    names.length <= LIMITS.outputs.commands &&
    names.every((name) => typeof name === 'string')
  )
    return names;
  throw invalidBody(
    '',
    `option "commands" must be a list of at most ${LIMITS.outputs.commands} names of commands`,
  );
}

/** A name, `{ command = …, arguments = … }`, or arguments of the command that is asked for. */
function safeCommand(given: JsonValue | undefined, name: string) {
  if (given === undefined || given === null) return undefined;
  if (typeof given === 'string') return { name: given, arguments: {} };
  if (!isObject(given)) throw invalidBody('', 'option "safe" must be a command or arguments');
  const { command, arguments: own = {}, ...rest } = given;
  if (typeof command === 'string' && isObject(own) && Object.keys(rest).length === 0)
    return { name: command, arguments: own };
  return { name, arguments: given };
}

function boundsOf(options: Options, name: string): Bounds {
  const given = options[name] ?? {};
  if (!isObject(given) || !Object.values(given).every((value) => typeof value === 'number'))
    throw invalidBody('', `option "${name}" must be a table of numbers by argument`);
  if (Object.keys(given).length > LIMITS.outputs.bounds)
    throw invalidBody('', `option "${name}" has at most ${LIMITS.outputs.bounds} arguments`);
  return given as Bounds;
}

function numberOf(options: Options, name: string, fallback: number, low: number, high: number): number {
  const value = options[name] ?? fallback;
  if (typeof value !== 'number' || !(value >= low && value <= high))
    throw invalidBody('', `option "${name}" must be a number from ${low} to ${high}`);
  return value;
}

function isObject(value: JsonValue): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
