/** Between what a person types and the values of arguments and parameters that a manifest declares. */
import { Faults } from './input-faults.ts';
import { mapped } from '../lib/members.ts';
import type { Argument } from './shapes.ts';
import { textOfNumber, typedNumber } from './typed-number.ts';
import { say } from './words/index.ts';

/** Text of each control; the empty text means "not given". */
export type Texts = Readonly<Record<string, string>>;

export type Declared = Readonly<Record<string, Argument>>;

/** Values that may be chosen, with their names; undefined when any may be typed. */
export function choicesOf(argument: Argument): { value: string | number; text: string }[] | undefined {
  if (argument.enum_with_metainfo)
    return argument.enum_with_metainfo.map(({ value, display_name: text }) => ({ value, text }));
  return argument.enum?.map((value) => ({ value, text: String(value) }));
}

/** Whether its value is one text on several lines. */
export function isLong({ type }: Argument): boolean {
  return type === 'json' || type === 'array_of_strings';
}

export function textOf(argument: Argument, value: unknown): string {
  if (value === undefined || value === null) return '';
  if (argument.type === 'array_of_strings' && Array.isArray(value)) return value.map(String).join('\n');
  if (isLong(argument)) return JSON.stringify(value, undefined, 2);
  if (typeof value === 'number' && !choicesOf(argument)) return textOfNumber(value);
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** First texts of the controls: the given values, else the defaults. */
export function initialTexts(declared: Declared, values: Readonly<Record<string, unknown>> = {}): Texts {
  return mapped(declared, (argument, name) => textOf(argument, values[name] ?? argument.default));
}

interface Typed {
  values: Record<string, unknown>;
  /** Sentences about what cannot be sent. */
  faults: string[];
}

/** Values of the texts. What is in bounds is judged by the gateway; here only what cannot be written as a value. */
export function typedValues(declared: Declared, texts: Texts): Typed {
  const values: Record<string, unknown> = {};
  const faults: string[] = [];
  for (const [name, argument] of Object.entries(declared)) {
    const text = texts[name] ?? '';
    if (text.trim() === '') {
      if (argument.required) faults.push(say.values.isNeeded(argument.display_name));
      continue;
    }
    const value = valueOf(argument, text);
    if (value === undefined) faults.push(expectation(argument));
    else values[name] = value;
  }
  return { values, faults };
}

/** @throws Faults for what cannot be sent */
export function judge(declared: Declared, texts: Texts): void {
  const { faults } = typedValues(declared, texts);
  if (faults.length > 0) throw new Faults(faults);
}

function valueOf(argument: Argument, text: string): unknown {
  const choice = choicesOf(argument)?.find(({ value }) => String(value) === text);
  if (choice) return choice.value;
  switch (argument.type) {
    case 'integer':
    case 'float': {
      const value = typedNumber(text);
      return argument.type === 'float' || Number.isSafeInteger(value) ? value : undefined;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : undefined;
    case 'array_of_strings':
      return text.split('\n').filter((line) => line !== '');
    case 'json':
      return jsonOf(text);
    default:
      return text;
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function expectation({ type, display_name: name }: Argument): string {
  if (type === 'integer') return say.values.mustBeWhole(name);
  if (type === 'float') return say.values.mustBeNumber(name);
  return type === 'boolean' ? say.values.mustBeYesOrNo(name) : say.values.mustBeJson(name);
}
