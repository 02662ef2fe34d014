/**
 * The form of authored objects as data: which fields, which kind of value, which are needed. Wording of the
 * problems: docs/interface/blueprints.md#problems. Old specs (`device/1.0`) ignore unknown fields and nulls.
 */
import { nearNameHint } from '../../../lib/text.ts';
import type { YamlMap, YamlValue } from '../source/yaml.ts';
import type { Problems } from './problems.ts';

export interface Scope {
  problems: Problems;
  /** Spec `device/1.0`: structure is checked leniently. */
  isOld: boolean;
}

export type Check<Context extends Scope> = (context: Context, path: string, value: YamlValue) => void;

/** The check of each field, and which fields are required. */
export type Fields<Context extends Scope> = Record<string, Check<Context> | { required: Check<Context> }>;

/** Fields that an earlier spec had, and the one that has them no more. */
interface Removed {
  names: readonly string[];
  spec: string;
}

const KEY_LENGTH_MAX = 128;
const DOT_FIELD = /^\.\w*$/;

/** True when the value is a map, whose fields have then been checked in document order. */
export function checkObject<Context extends Scope>(
  context: Context,
  path: string,
  value: YamlValue,
  fields: Fields<Context>,
  removed?: Removed,
): value is YamlMap {
  if (!(value instanceof Map)) {
    context.problems.add(path, 'must be an object');
    return false;
  }
  for (const [key, item] of value) {
    const name = String(key);
    const here = join(path, name);
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    const check = typeof field === 'object' ? field.required : field;
    if (check !== undefined) {
      if (!(context.isOld && item === null)) check(context, here, item);
    } else if (!context.isOld && !DOT_FIELD.test(name))
      context.problems.add(
        here,
        removed?.names.includes(name)
          ? `not supported in ${removed.spec}`
          : `unknown field${nearNameHint(name, Object.keys(fields))}`,
      );
  }
  for (const [name, field] of Object.entries(fields))
    if (typeof field === 'object' && (!value.has(name) || (context.isOld && value.get(name) === null)))
      context.problems.add(join(path, name), 'required');
  return true;
}

/** Checks a map from names to entries; names must match the pattern. */
export function checkNamed<Context extends Scope>(
  context: Context,
  path: string,
  value: YamlValue,
  pattern: RegExp | undefined,
  check: (context: Context, path: string, value: YamlValue, name: string) => void,
): void {
  if (!(value instanceof Map)) {
    context.problems.add(path, 'must be an object');
    return;
  }
  for (const [key, item] of value) {
    const name = String(key);
    if (DOT_FIELD.test(name)) continue;
    const here = join(path, name);
    if (name.length > KEY_LENGTH_MAX)
      context.problems.add(
        join(path, `${name.slice(0, KEY_LENGTH_MAX)}…`),
        `name longer than ${KEY_LENGTH_MAX} characters`,
      );
    else if (pattern !== undefined && !pattern.test(name))
      context.problems.add(here, `invalid name, must match ${pattern.source}`);
    check(context, here, item, name);
  }
}

/** An object with these fields. */
export const objectOf =
  <Context extends Scope>(fields: Fields<Context>): Check<Context> =>
  (context, path, value) =>
    void checkObject(context, path, value, fields);

/** A map from names to such objects. */
export const namedObjects =
  <Context extends Scope>(pattern: RegExp | undefined, fields: Fields<Context>): Check<Context> =>
  (context, path, value) =>
    checkNamed(context, path, value, pattern, objectOf(fields));

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

/** Kind of a value for a message. */
export function kindOf(value: YamlValue): string {
  if (value === null) return 'null';
  if (value instanceof Map) return 'object';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'float';
  return typeof value;
}

/** A value in a message, short. */
export function shown(value: YamlValue): string {
  const text = value instanceof Map ? '{…}' : Array.isArray(value) ? '[…]' : JSON.stringify(value);
  return text.length > 100 ? `${text.slice(0, 100)}…"` : text;
}

export const text = (context: Scope, path: string, value: YamlValue): void => {
  if (typeof value !== 'string') context.problems.add(path, 'must be a string');
};

export const filledText = (context: Scope, path: string, value: YamlValue): void => {
  if (typeof value !== 'string') context.problems.add(path, 'must be a string');
  else if (value.trim() === '') context.problems.add(path, 'must not be empty');
};

export const flag = (context: Scope, path: string, value: YamlValue): void => {
  if (typeof value !== 'boolean') context.problems.add(path, 'must be a boolean');
};

export const number = (context: Scope, path: string, value: YamlValue): void => {
  if (typeof value !== 'number' || !Number.isFinite(value)) context.problems.add(path, 'must be a number');
};

export const anything = (): void => undefined;

export const texts = (context: Scope, path: string, value: YamlValue): void => {
  if (!Array.isArray(value)) context.problems.add(path, 'must be an array');
  else for (const [index, item] of value.entries()) text(context, `${path}[${index}]`, item);
};

/** One text or a list of them. */
export const textOrTexts = (context: Scope, path: string, value: YamlValue): void => {
  if (Array.isArray(value)) texts(context, path, value);
  else if (typeof value !== 'string') context.problems.add(path, 'must be a string or an array');
};

export const choice =
  (names: readonly string[]) =>
  (context: Scope, path: string, value: YamlValue): void => {
    if (typeof value !== 'string') context.problems.add(path, 'must be a string');
    else if (!names.includes(value))
      context.problems.add(path, `unsupported value ${shown(value)}, expected one of: ${names.join(', ')}`);
  };

/** Every text of a field that may be one text or a list, with the path of each. */
export function listed(path: string, value: YamlValue | undefined): [path: string, item: string][] {
  if (typeof value === 'string') return [[path, value]];
  if (!Array.isArray(value)) return [];
  return value.flatMap((item, index) =>
    typeof item === 'string' ? [[`${path}[${index}]`, item] as [string, string]] : [],
  );
}
