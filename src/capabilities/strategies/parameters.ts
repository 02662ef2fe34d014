/** Parameters of a strategy as somebody gives them: judged against its declaration and the devices of the site. */
import { type ScriptValues, type Strategy, type StrategyParameter } from '#library';
import { WEEKDAYS } from '../../lib/weekdays.ts';
import type { Problem } from '../../lib/errors.ts';
import { nearNameHint } from '../../lib/text.ts';
import { checkArguments, type CompiledCommand } from '../blueprints/index.ts';
import type { Devices } from '../devices/index.ts';
import { unitFactor } from '../energy/index.ts';
import { readableAttribute } from '../rules/index.ts';

type Kind = StrategyParameter['kind'];
type Declared<Which extends Kind> = Extract<StrategyParameter, { kind: Which }>;
type Values = Record<string, unknown>;

/** A value as it is stored and shown, and as the script gets it. */
interface Accepted {
  stored: unknown;
  script: ScriptValues;
}

interface JudgedParameters {
  stored: Values;
  script: Record<string, ScriptValues>;
  /** Empty when all is well. */
  problems: Problem[];
}

const CLOCK = /^([01]\d|2[0-3]):[0-5]\d$/;

export function judgeParameters(strategy: Strategy, given: Values, devices: Devices): JudgedParameters {
  const judge = new Judge(devices);
  const accepted = judge.members(strategy.parameters, given, 'parameters');
  const stored = mappedTo(accepted, ({ stored: value }) => value);
  for (const [low, high] of strategy.order ?? []) {
    const [lower, upper] = [stored[low], stored[high]];
    if (typeof lower === 'number' && typeof upper === 'number' && lower > upper)
      judge.refuse(`parameters.${low}`, `must not be above "${high}", which is ${upper}`);
  }
  return { stored, script: mappedTo(accepted, ({ script }) => script), problems: judge.problems };
}

const mappedTo = <Value>(accepted: ReadonlyMap<string, Accepted>, take: (value: Accepted) => Value) =>
  Object.fromEntries([...accepted].map(([name, value]) => [name, take(value)]));

class Judge {
  readonly problems: Problem[] = [];
  readonly #devices: Devices;

  constructor(devices: Devices) {
    this.#devices = devices;
  }

  refuse(field: string, fault: string): undefined {
    this.problems.push({
      code: 'invalid_strategy_parameters',
      message: `Field "${field}" ${fault}.`,
      details: { field },
    });
  }

  /** Null and absent mean the default. */
  members(
    declared: Readonly<Record<string, StrategyParameter>>,
    given: Values,
    at: string,
  ): Map<string, Accepted> {
    const accepted = new Map<string, Accepted>();
    for (const name of Object.keys(given))
      if (!Object.hasOwn(declared, name))
        this.refuse(`${at}.${name}`, `is unknown${nearNameHint(name, Object.keys(declared))}`);
    for (const [name, parameter] of Object.entries(declared)) {
      const field = `${at}.${name}`;
      const value = (Object.hasOwn(given, name) ? given[name] : undefined) ?? defaultOf(parameter);
      if (value === undefined) {
        if (parameter.optional !== true) this.refuse(field, 'is required');
        continue;
      }
      const judged = this.#one(parameter, value, field);
      if (judged) accepted.set(name, judged);
    }
    return accepted;
  }

  #one(parameter: StrategyParameter, value: unknown, field: string): Accepted | undefined {
    switch (parameter.kind) {
      case 'number':
        return this.#number(parameter, value, field);
      case 'choice':
        return this.#choice(Object.keys(parameter.choices), value, field);
      case 'time':
        return this.#time(value, field);
      case 'time_window':
        return this.#window(value, field);
      case 'weekdays':
        return this.#weekdays(value, field);
      case 'attribute':
        return this.#attribute(parameter, value, field);
      case 'action':
        return this.#action(value, field);
      case 'setpoint':
        return this.#setpoint(value, field);
      case 'list':
        return this.#list(parameter, value, field);
    }
  }

  #number({ min, max, integer }: Declared<'number'>, value: unknown, field: string): Accepted | undefined {
    if (typeof value !== 'number' || (integer === true && !Number.isInteger(value)))
      return this.refuse(field, integer === true ? 'must be a whole number' : 'must be a number');
    if (min !== undefined && value < min) return this.refuse(field, `must be at least ${min}`);
    if (max !== undefined && value > max) return this.refuse(field, `must be at most ${max}`);
    return { stored: value, script: value };
  }

  #choice(choices: readonly string[], value: unknown, field: string): Accepted | undefined {
    if (typeof value !== 'string' || !choices.includes(value))
      return this.refuse(field, `must be one of: ${choices.join(', ')}`);
    return { stored: value, script: value };
  }

  #time(value: unknown, field: string): Accepted | undefined {
    if (typeof value !== 'string' || !CLOCK.test(value))
      return this.refuse(field, 'must be a time of day such as "06:30"');
    return { stored: value, script: value };
  }

  #window(value: unknown, field: string): Accepted | undefined {
    const window = this.#object(value, ['from', 'to'], field);
    const [from, to] = [
      window && this.#time(window['from'], `${field}.from`),
      window && this.#time(window['to'], `${field}.to`),
    ];
    if (!from || !to) return undefined;
    return {
      stored: { from: from.stored, to: to.stored },
      script: { from: from.script, to: to.script },
    };
  }

  #weekdays(value: unknown, field: string): Accepted | undefined {
    const names: readonly string[] = WEEKDAYS;
    if (!Array.isArray(value) || value.length === 0 || !value.every((day) => names.includes(day as string)))
      return this.refuse(field, `must be a list of days: ${names.join(', ')}`);
    const days = names.filter((day) => value.includes(day));
    return { stored: days, script: days };
  }

  #attribute(
    { unit, type: wanted, sign }: Declared<'attribute'>,
    value: unknown,
    field: string,
  ): Accepted | undefined {
    const given = this.#object(value, ['device', 'attribute', ...(sign ? ['inverted'] : [])], field);
    const manifest = given && this.#manifestOf(given['device'], `${field}.device`);
    if (!given || !manifest) return undefined;
    const { device, attribute, inverted } = given;
    const at = `${field}.attribute`;
    const name = typeof attribute === 'string' ? readableAttribute(manifest, attribute) : undefined;
    const type = name === undefined ? undefined : manifest.telemetry[name]?.type;
    if (wanted ? type !== wanted : type !== 'float' && type !== 'integer')
      return this.refuse(
        at,
        `must be the name of a ${wanted ?? 'numeric'} telemetry attribute of the device`,
      );
    const factor = unit === 'W' ? unitFactor(manifest, name ?? '', 'W') : 1;
    if (factor === undefined) return this.refuse(at, 'must be measured in W, kW or MW');
    const isInverted = inverted ?? false;
    if (typeof isInverted !== 'boolean') return this.refuse(`${field}.inverted`, 'must be true or false');
    return {
      stored: { device, attribute, ...(sign && { inverted: isInverted }) },
      script: {
        device: device as string,
        attribute: attribute as string,
        factor: isInverted ? -factor : factor,
      },
    };
  }

  #action(value: unknown, field: string): Accepted | undefined {
    const given = this.#object(value, ['device', 'command', 'arguments'], field);
    const command = given && this.#commandOf(given, field);
    if (!given || !command) return undefined;
    const values = this.#arguments(command, given['arguments'] ?? {}, field);
    if (!values) return undefined;
    const action = { device: given['device'], command: given['command'], arguments: values };
    return { stored: action, script: action as ScriptValues };
  }

  #setpoint(value: unknown, field: string): Accepted | undefined {
    const given = this.#object(value, ['device', 'command', 'argument', 'arguments'], field);
    const command = given && this.#commandOf(given, field);
    if (!given || !command) return undefined;
    const declared = command.arguments ?? {};
    const numeric = Object.keys(declared).filter((name) =>
      ['float', 'integer'].includes(declared[name]?.type ?? ''),
    );
    const argument = given['argument'] ?? (numeric.length === 1 ? numeric[0] : undefined);
    if (typeof argument !== 'string' || !numeric.includes(argument))
      return this.refuse(
        `${field}.argument`,
        numeric.length === 0
          ? 'needs a command with a numeric argument'
          : `must be one of: ${numeric.join(', ')}`,
      );
    const { [argument]: set, ...others } = declared;
    if (Object.hasOwn((given['arguments'] as Values | null | undefined) ?? {}, argument))
      return this.refuse(`${field}.arguments.${argument}`, 'must be left out: the strategy sets it');
    const values = this.#arguments({ ...command, arguments: others }, given['arguments'] ?? {}, field);
    if (!values) return undefined;
    const stored = { device: given['device'], command: given['command'], argument, arguments: values };
    return { stored, script: { ...stored, min: set?.min, max: set?.max } as ScriptValues };
  }

  #list({ min, max, item }: Declared<'list'>, value: unknown, field: string): Accepted | undefined {
    if (!Array.isArray(value) || value.length < min || value.length > max)
      return this.refuse(field, `must be a list of ${min} to ${max} items`);
    const items = value.map((each: unknown, index) => {
      const members = this.#object(each, Object.keys(item), `${field}.${index}`);
      return members ? this.members(item, members, `${field}.${index}`) : new Map<string, Accepted>();
    });
    return {
      stored: items.map((accepted) => mappedTo(accepted, ({ stored }) => stored)),
      script: items.map((accepted) => mappedTo(accepted, ({ script }) => script)),
    };
  }

  #object(value: unknown, names: readonly string[], field: string): Values | undefined {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.refuse(field, `must be an object with ${names.join(', ')}`);
    const unknown = Object.keys(value).find((name) => !names.includes(name));
    if (unknown !== undefined)
      return this.refuse(`${field}.${unknown}`, `is unknown${nearNameHint(unknown, names)}`);
    return value as Values;
  }

  #manifestOf(device: unknown, field: string): ReturnType<Devices['manifest']> | undefined {
    const found = typeof device === 'string' ? this.#devices.find(device) : undefined;
    return found ? this.#devices.manifest(found) : this.refuse(field, 'must be the id or slug of a device');
  }

  #commandOf({ device, command: name }: Values, field: string): CompiledCommand | undefined {
    const manifest = this.#manifestOf(device, `${field}.device`);
    if (!manifest) return undefined;
    const commands = Object.values(manifest.commands);
    if (typeof name === 'string' && Object.hasOwn(manifest.commands, name)) return manifest.commands[name];
    const aliased = commands.find(({ aliases }) => aliases.includes(name as string));
    return aliased ?? this.refuse(`${field}.command`, 'must be the name of a command of the device');
  }

  /** Defaults of the command are its own business, and may change. */
  #arguments(command: CompiledCommand, given: unknown, field: string): Values | undefined {
    if (typeof given !== 'object' || given === null || Array.isArray(given))
      return this.refuse(`${field}.arguments`, 'must be an object');
    const { problems = [] } = checkArguments(command, given as Values);
    for (const { message } of problems)
      this.refuse(`${field}.arguments`, `is refused by the command: ${message.replace(/\.$/, '')}`);
    return problems.length === 0 ? (given as Values) : undefined;
  }
}

function defaultOf(parameter: StrategyParameter): unknown {
  if (parameter.kind === 'list') return parameter.min === 0 ? [] : undefined;
  return 'default' in parameter ? parameter.default : undefined;
}
