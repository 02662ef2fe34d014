/** With which control a command is given, and which value of the device shows what it does. Pure. */
import { choicesOf } from '../arguments.ts';
import type { Argument, Command, Manifest } from '../shapes.ts';

export type CommandKind =
  | { kind: 'button' }
  | { kind: 'switch'; argument: string; on: unknown; off: unknown }
  | { kind: 'select'; argument: string; choices: { value: string | number; text: string }[] }
  | { kind: 'slider'; argument: string; min: number; max: number; step: number };

const ON = /^(on|true|1|enabled?)$/i;
const OFF = /^(off|false|0|disabled?)$/i;
/** A slider of so many steps can still be set with a finger. */
const STEPS_MAX = 100;
const NICE = [1, 2, 5];

/** Undefined: it needs a form. */
export function kindOf({ arguments: declared = {} }: Command): CommandKind | undefined {
  const [first, ...others] = Object.entries(declared);
  if (!first) return { kind: 'button' };
  if (others.length > 0) return undefined;
  const [argument, { type, min, max, sensitive }] = first;
  if (sensitive === true) return undefined;
  if (type === 'boolean') return { kind: 'switch', argument, on: true, off: false };
  const choices = choicesOf(first[1]);
  if (choices) return switchOf(argument, choices) ?? { kind: 'select', argument, choices };
  if ((type !== 'float' && type !== 'integer') || min === undefined || max === undefined || max <= min)
    return undefined;
  return { kind: 'slider', argument, min, max, step: stepOf(max - min, type === 'integer') };
}

function switchOf(argument: string, choices: readonly { value: string | number }[]): CommandKind | undefined {
  const of = (pattern: RegExp) => choices.find(({ value }) => pattern.test(String(value)));
  const [on, off] = [of(ON), of(OFF)];
  return choices.length === 2 && on && off
    ? { kind: 'switch', argument, on: on.value, off: off.value }
    : undefined;
}

function stepOf(span: number, isInteger: boolean): number {
  const least = span / STEPS_MAX;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = (NICE.find((nice) => nice * power >= least) ?? 10) * power;
  return isInteger ? Math.max(1, Math.round(step)) : step;
}

const VERB = /^(?:set|turn|switch)_/;

/** The value that shows what a command of one argument has done, by their names; undefined if there is none. */
export function shownBy(
  name: string,
  argument: string,
  declared: Pick<Argument, 'type'>,
  { telemetry }: Pick<Manifest, 'telemetry'>,
): string | undefined {
  const base = name.replace(VERB, '');
  const isNumber = declared.type === 'float' || declared.type === 'integer';
  const fits = (one: string): boolean => {
    const type = telemetry[one]?.type;
    if (type === undefined) return false;
    return isNumber ? type === 'float' || type === 'integer' : type === 'boolean' || type === declared.type;
  };
  return [base, `${base}_on`, `${base}_enabled`, argument].find(fits);
}
