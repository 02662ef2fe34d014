/**
 * Converts between parameters of a strategy and the texts of their controls: one text for each control, by its path.
 * `loads.0.on` has `loads.0.on.device` and `loads.0.on.name`; a list has its length. Pure.
 */
import { type Declared, textOf, type Texts, typedValues } from '../arguments.ts';
import type { StrategyParameter } from '../shapes.ts';
import { WEEKDAYS } from '../../lib/weekdays.ts';
import { textOfNumber, typedNumber } from '../typed-number.ts';

export type Values = Record<string, unknown>;

/** Arguments that the command of a device declares. */
export type ArgumentsOf = (device: string, command: string) => Declared;

/** Arguments that a person gives for a command; the one that a strategy sets is left out. */
export function argumentsOf(known: ArgumentsOf, texts: Texts, at: string): Declared {
  const declared = commandArguments(known, texts, at);
  const set = texts[`${at}.argument`];
  return Object.fromEntries(Object.entries(declared).filter(([name]) => name !== set));
}

/** Arguments of the chosen command that are numbers. */
export const numericArguments = (known: ArgumentsOf, texts: Texts, at: string): string[] =>
  Object.entries(commandArguments(known, texts, at))
    .filter(([, { type }]) => type === 'float' || type === 'integer')
    .map(([name]) => name);

const commandArguments = (known: ArgumentsOf, texts: Texts, at: string): Declared =>
  known(texts[`${at}.device`] ?? '', texts[`${at}.name`] ?? '');

/** Texts below a path, without it. */
export function textsBelow(texts: Texts, at: string): Texts {
  const below = `${at}.`;
  return Object.fromEntries(
    Object.entries(texts).flatMap(([key, text]) =>
      key.startsWith(below) ? [[key.slice(below.length), text]] : [],
    ),
  );
}

/** Texts of parameters with these values, else with their defaults. */
export function textsOf(
  parameters: readonly StrategyParameter[],
  values: Values,
  known: ArgumentsOf,
  before = '',
): Record<string, string> {
  return Object.assign(
    {},
    ...parameters.map((parameter) =>
      textsOfOne(parameter, values[parameter.name] ?? parameter.default, known, before + parameter.name),
    ),
  ) as Record<string, string>;
}

function textsOfOne(
  parameter: StrategyParameter,
  value: unknown,
  known: ArgumentsOf,
  at: string,
): Record<string, string> {
  if (parameter.kind === 'list') {
    const items = Array.isArray(value) ? (value as Values[]) : [{}].slice(0, parameter.min);
    const texts = items.map((item, index) =>
      textsOf(parameter.parameters ?? [], item, known, `${at}.${index}.`),
    );
    return Object.assign({ [`${at}.length`]: String(items.length) }, ...texts) as Record<string, string>;
  }
  if (value === undefined || value === null) return {};
  if (parameter.kind === 'number') return { [at]: textOfNumber(value as number) };
  if (parameter.kind === 'weekdays')
    return Object.fromEntries((value as string[]).map((day) => [`${at}.${day}`, 'true']));
  if (typeof value === 'string') return { [at]: value };
  return textsOfObject(value as Values, known, at);
}

/** A window, an attribute or a command. */
function textsOfObject(value: Values, known: ArgumentsOf, at: string): Record<string, string> {
  const { attribute, command, arguments: given, ...others } = value;
  const texts = Object.fromEntries(
    Object.entries(others).map(([key, part]) => [`${at}.${key}`, String(part)]),
  );
  const name = attribute ?? command;
  if (typeof name === 'string') texts[`${at}.name`] = name;
  const declared = commandArguments(known, texts, at);
  for (const [key, argument] of Object.entries((given ?? {}) as Values)) {
    const declaration = declared[key];
    texts[`${at}.arguments.${key}`] = declaration ? textOf(declaration, argument) : String(argument);
  }
  return texts;
}

/** Values of what was typed; null for what is not whole, which the gateway names. */
export const valuesOf = (
  parameters: readonly StrategyParameter[],
  texts: Texts,
  known: ArgumentsOf,
  before = '',
): Values =>
  Object.fromEntries(
    parameters.map((parameter) => [
      parameter.name,
      valueOf(parameter, texts, known, before + parameter.name),
    ]),
  );

function valueOf(parameter: StrategyParameter, texts: Texts, known: ArgumentsOf, at: string): unknown {
  const text = texts[at] ?? '';
  switch (parameter.kind) {
    case 'number':
      return typedNumber(text) ?? null;
    case 'weekdays':
      return WEEKDAYS.filter((day) => texts[`${at}.${day}`] === 'true');
    case 'time_window': {
      const [from, to] = [texts[`${at}.from`], texts[`${at}.to`]];
      return from && to ? { from, to } : null;
    }
    case 'attribute':
    case 'action':
    case 'setpoint':
      return texts[`${at}.device`] && texts[`${at}.name`] ? namedValue(parameter, texts, known, at) : null;
    case 'list':
      return Array.from({ length: Number(texts[`${at}.length`]) }, (_, index) =>
        valuesOf(parameter.parameters ?? [], texts, known, `${at}.${index}.`),
      );
    default:
      return text === '' ? null : text;
  }
}

function namedValue({ kind, sign }: StrategyParameter, texts: Texts, known: ArgumentsOf, at: string): Values {
  const [device, name] = [texts[`${at}.device`], texts[`${at}.name`]];
  if (kind === 'attribute')
    return { device, attribute: name, ...(sign && { inverted: texts[`${at}.inverted`] === 'true' }) };
  const argument = texts[`${at}.argument`];
  const given = typedValues(argumentsOf(known, texts, at), textsBelow(texts, `${at}.arguments`)).values;
  return { device, command: name, ...(argument && { argument }), arguments: given };
}
